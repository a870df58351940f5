"""Names and words of the frozen world: a group of public utilities, hospitals, transport and culture."""

from __future__ import annotations

from collections.abc import Mapping

from assay.bench.rb006.world.templates import split_words

WORDS: Mapping[str, tuple[str, ...]] = {
    "first": split_words(
        """Adaeze Aidan Alba Alistair Anneke Arjun Astrid Aurelio Beatriz Benedikt Bojana Callum Camila Ciaran Corinne
        Dagmar Delphine Dieter Dunja Eamon Eduardo Eirik Eleni Enzo Esther Ewa Fatima Fergus Filippa Florian Gaspard
        Gemma Goran Gudrun Hamza Heloise Hiroshi Ilse Imran Isolde Jannik Jasmin Joao Kaisa Katarzyna Kofi Laszlo
        Leif Ludmila Magnus Maite Marisol Mateusz Mirela Naveen Niamh Odette Orla Paolo Pilar Radek Rashid Rikke
        Rosalind Ruben Sabine Sanne Silvio Sinead Stellan Svetlana Tariq Thandi Tobias Veronika Wolfram Yasmin
        Yvonne"""
    ),
    "last": split_words(
        """Abernathy Achterberg Aguilar Alvesson Amundsen Anselmi Arkwright Ballesteros Beauchamp Belmonte Bjarnason
        Blackwood Bogdanov Brannigan Callahan Cervantes Chukwu Colombo Cruickshank Dalgaard Delacroix Dimitrov
        Donnelly Ekwueme Escobar Fairbanks Fitzgerald Frankowski Gagnon Galanis Gierek Gonzaga Grimaldi Haverkamp
        Heikkinen Hendricks Hinojosa Hrubec Isaksson Jagger Janssens Kapoor Karlsen Khoury Kirchner Koskinen Kruger
        Lefebvre Leitner Lonergan Lundgren Macleod Maldonado Mancini Mehta Mikkelsen Montague Mutombo Nieminen
        Obermayer Olafsson Ostrowski Pakulski Pappas Pettersen Pinheiro Rasmussen Reinhardt Ribeiro Rosenthal
        Salazar Santoro Schuster Sedlacek Silveira Solheim Stavros Szymanski Tavares Teixeira Tolvanen Vandenberg
        Vermeulen Wickham Wojcik Zapata Zeller"""
    ),
    "domain": split_words(
        """Tramways, Waterworks, Street Lighting, Blood Donation, Maternity, District Heating, Night Buses, Ferries,
        Botanical Garden, City Archive, Concert Hall, Radiology, Sewage, Swimming Baths, Ambulance, Cycle Hire,
        Dental Clinic, Snow Clearance, Tree Care, Museum Quarter, School Meals, Public Library, Pest Control, Noise
        Abatement, Flood Defence, Cemetery, Parking, Housing Repairs, Funicular, Oncology, Physiotherapy, Livestock
        Market, Observatory, Youth Theatre, Weights and Measures, Tunnel Safety, Canal Locks, Ice Rink, Sheltered
        Housing, Heritage Railway""",
        ",",
    ),
    "function": split_words(
        """Dispatch, Maintenance, Permits, Enrolment, Inspection, Outreach, Rostering, Estates, Accounts, Records,
        Modernisation, Stores, Hygiene""",
        ",",
    ),
    "service_first": split_words(
        """argon basalt beryl bismuth borealis calypso carbon cerium cinder cirrus cobra comet coral corona cumulus
        dahlia dingo dolomite echo fennel fjord flint galleon gecko geyser ginger glider gneiss halo helium heron
        hydra iris jackal jade kelp koala krypton lichen lotus lynx magma mamba mantis merlin mica moss myrtle
        nectar neon nimbus nova ocelot orbit orchid osprey panda papaya parrot pepper petrel pluto pollen puma"""
    ),
    "service_last": split_words(
        """abacus almanac atlas barge basket bellows booth bucket cabinet canvas carafe catapult chest chisel clamp
        clasp coil compass conveyor crane crate curtain dial drawer drum easel flask folder gantry girder hinge
        hoist hopper kettle lathe lever lock loom magnet mallet manifold needle nozzle paddle pallet pedal pencil
        piston plough pulley rack ratchet rudder sieve spanner spindle spool stencil switch tray trolley trowel
        valve winch"""
    ),
    "project_first": split_words(
        """Amber Brisk Candid Crisp Daring Eager Fabled Fearless Frank Gallant Humble Jovial Keen Lively Lucid Merry
        Mild Nimble Noble Patient Plucky Polite Prudent Ready Robust Sincere Sober Sturdy Subtle Supple Thrifty
        Vivid Warm"""
    ),
    "project_last": split_words(
        """Albatross Badger Bison Bullfinch Buzzard Caribou Chamois Cormorant Cricket Curlew Dormouse Dragonfly Egret
        Ermine Firefly Gannet Gazelle Goldcrest Grouse Guillemot Hedgehog Hornet Ibex Ibis Kingfisher Kittiwake
        Ladybird Lapwing Linnet Lobster Mackerel Magpie Marmot Marten Minnow Moorhen Newt Nightjar Nuthatch Oriole
        Partridge Pelican Pheasant Pipit Polecat Puffin Redstart Salmon Sandpiper Siskin Skylark Sturgeon Turnstone
        Wagtail"""
    ),
    "vendor_first": split_words(
        """Abelard Averley Bexhill Bonaventure Cadwell Carrick Dunmore Edgecombe Fairlight Fennimore Gladstone Glenmore
        Harrowgate Hollis Illingworth Kinsale Kirkwall Lambourn Lockerbie Marchmont Netherby Oakhampton Osterley
        Pemberley Penrose Quillon Ravenscar Redfern Selwyn Stanmore Thornbury Tregarth Upwood Vauxmoor Westbrook
        Winterbourne"""
    ),
    "vendor_last": split_words(
        """Informatics, Plumbing, Rail, Diagnostics, Paving, Turbines, Uniforms, Fencing, Imaging, Refrigeration,
        Elevators, Surveying, Landscaping, Brokers, Laundry, Ventilation, Batteries, Scaffolding, Glazing, Filters,
        Cabling, Engraving, Roofing, Boilers, Upholstery, Bindery, Compressors, Paints, Bearings, Chemicals,
        Lubricants, Ropes, Castings, Valves, Furniture, Timetables, Kiosks, Turnstiles, Sirens, Beacons, Gauges,
        Mapping""",
        ",",
    ),
    "city": split_words(
        """Aberdeen, Bremen, Coimbra, Dundee, Eindhoven, Galway, Genoa, Groningen, Innsbruck, Kaunas, Limerick, Linz,
        Lublin, Lucerne, Maribor, Modena, Odense, Ostrava, Parma, Rouen, Salamanca, Split, Trondheim, Turku""",
        ",",
    ),
    "location": split_words(
        """Reykjavik, Luxembourg, Marseille, Bucharest, Prague, Vilnius, Oslo, Hamburg, Geneva, Lyon, Bologna, Seville,
        Toronto, Denver, Taipei, Auckland, Perth, Accra, Bogota, Santiago""",
        ",",
    ),
    "cluster_place": split_words("abz bre cph dnd ein gal gen gro inn kau lin luc mod ode pra trd"),
    "role": split_words(
        """duty planner, hygiene nurse, timetable editor, pump technician, ward clerk, permit officer, arborist,
        archivist, rolling stock engineer, ticketing analyst, safety warden, catering buyer, acoustics expert,
        volunteer coordinator, payroll assistant, radiographer""",
        ",",
    ),
    "approver": split_words(
        """board secretary, chief physician, union delegate, estate manager, district engineer, city treasurer, ethics
        panel, fleet superintendent, press officer, hygiene board, museum director, insurance clerk""",
        ",",
    ),
    "purpose": split_words(
        """bar code labels, seat reservations, tide tables, dosage checks, passenger counting, water analysis, patient
        letters, lamp telemetry, route planning, meal ordering, blood group lookup, parcel lockers, leak detection,
        face blurring, pollen forecasts, sign language video""",
        ",",
    ),
    "setting": split_words(
        """sampling rate, grace period, buffer length, seat quota, alarm threshold, archive depth, queue priority,
        login window, export chunk, scan interval, voltage floor, print margin, sync delay, idle cutoff, record cap,
        burst allowance, cooldown, lookahead""",
        ",",
    ),
    "symptom": split_words(
        """overlapping shifts on the screen, a ticket machine that swallowed coins, letters printed without an address,
        pumps shown twice on the map, appointments on a public holiday, a frozen departure board, invoices in the
        wrong currency, gauges stuck at zero, names sorted backwards, a login page in another language, mails sent
        at night, a search that finds nobody, missing bed numbers, a calendar one hour late, barcodes nobody can
        scan, reports without a last page, doors that stay locked, colours missing on the plan, seats sold twice, a
        menu without lunch""",
        ",",
    ),
    "fix": split_words(
        """reloading the holiday calendar, swapping the scanner head, regenerating the address list, removing a
        duplicate trigger, resetting the font package, reinstalling the card driver, extending the lookup range,
        merging two profiles, cleaning the sensor contacts, rewriting the sort rule, loosening the filter, refilling
        the template cache, switching to the backup radio, editing the price table, unlocking the batch account,
        resending the config bundle""",
        ",",
    ),
    "cause": split_words(
        """a flooded cable duct, a test script left running, an update that skipped one server, a counter that
        overflowed, a fan clogged with dust, an expired licence file, a badly crimped plug, a cut fibre near the
        depot, a clock that ran ahead, a bird on the overhead line, a script that deleted its own lock, a thermostat
        set too high, a swapped pair of addresses, a spreadsheet with a hidden row, a voltage dip at dawn, a
        password typed into the wrong box""",
        ",",
    ),
    "step": split_words(
        """the duty planner noticed the silence, a technician drove to the substation, the spare radio was tried, buses
        were held at the terminus, the emergency line was opened, wards switched to paper forms, a first restart was
        attempted, that restart was abandoned, the supplier sent an engineer, the gate was opened by hand, two
        screens came back, passengers were counted manually, the generator took the load, a loudspeaker announcement
        was read, the mayor's desk was informed, readings returned to normal, the barrier was lifted, a second crew
        arrived, the cabinet was dried with fans, the cable was spliced, a wrong fuse was pulled, the old console
        was plugged in, all pumps were throttled, the shift change was delayed, fire brigade access was checked,
        samples were taken again, a press note was drafted, the log was copied to a stick, the street was closed,
        service resumed at half speed""",
        ",",
    ),
    "task": split_words(
        """a drain below the duct, a spare fan on every floor, a weekly test of the radio, a label on each plug, a
        second fibre route, a checklist for licence dates, a drill with paper forms, a guard against overflow, a
        clock check at noon, a sweep of forgotten scripts""",
        ",",
    ),
    "decision": split_words(
        """extend the opening hours in July, plant forty lime trees, buy the used snow blower, teach sign language to
        the counter staff, sell the old tram bodies, mute the platform gong after ten, heat the baths with waste
        warmth, lower the counter for wheelchairs, give school classes free entry, use recycled paper for posters,
        keep the goats on the embankment, test electric mowers, paint the handrails yellow, hold the open day in
        May, weigh every delivery, collect rainwater for the beds, drop the deposit for lockers, put benches at each
        stop, serve one warm dish without meat, play no music in the waiting hall, lend umbrellas at the desk, wash
        uniforms on site, train two more divers, repair the tower clock, count visitors by camera, hire a ferry for
        the festival, close the north gate in winter, share the crane with the harbour, print timetables in large
        type, move the beehives to the roof, swap night and early shifts, name the new lock after its keeper, offer
        a bicycle allowance, ring the bell by hand, reuse the stage curtain, stop the leaflet by post""",
        ",",
    ),
    "item_filed": split_words(
        """the noise complaint from the brewery, the dive log of the weir, the lift inspection of the east wing, the
        quote for new seat covers, the loan request for the steam engine, the soil survey of the meadow, the
        thank-you note from the school, the damage report on the jetty, the heating bill of the greenhouse, the
        sketch for the drinking fountain, the petition about the footbridge, the inventory of the costume store""",
        ",",
    ),
    "absent.service": split_words(
        """colour scheme, founding year, sponsor, mean time between failures, privacy assessment, screen reader
        rating""",
        ",",
    ),
    "absent.project": split_words(
        """mascot, patron, jury verdict, naming ceremony, rainfall assumption, royalty share""", ","
    ),
    "absent.vendor": split_words(
        "shareholders, tax domicile, apprentice quota, fax line, court of venue, anniversary", ","
    ),
    "absent.person": split_words(
        "blood type, shoe size, nationality, marital status, favourite meal, military service", ","
    ),
    "ask.contract": split_words("contract number, contract reference number, contract id", ","),
    "ask.location": split_words("hosting town, place of hosting, city of the servers", ","),
    "ask.contact": split_words("go-between, counterpart, relationship manager", ","),
    "ask.extension": split_words("phone number, telephone number, office phone number", ","),
    "ask.number": split_words("employee id, employee code, personnel code", ","),
    "ask.desk": split_words("seat, seating spot, chair", ","),
    "ask.port": split_words("TCP port, port number, network port", ","),
    "ask.cluster": split_words("cluster, cluster name, host cluster", ","),
    "ask.repository": split_words("git path, git repository, repository path", ","),
    "ask.code": split_words("time sheet code, charge code, code for hours", ","),
    "ask.pager": split_words("pager key, standby key, pager id", ","),
    "via.service.vendor": split_words("the outside company {start} uses, the third party that helps {start}", ","),
    "via.service.owner": split_words("the man or woman in charge of {start}, whoever is accountable for {start}", ","),
    "via.service.dependency": split_words("what {start} sits on top of, the system below {start}", ","),
    "via.project.vendor": split_words("the outside company on {start}, the third party working for {start}", ","),
    "via.project.service": split_words("the system improved by {start}, the program that {start} deals with", ","),
    "via.ticket.service": split_words("the system behind {start}, the program mentioned in {start}", ","),
    "weekday": split_words("Monday Tuesday Wednesday Thursday Friday"),
    "room": split_words("Amsel Biber Dachs Eule Fuchs Gams Hecht Igel Kranich Luchs Otter Reiher"),
    "thing": split_words(
        """poster, roster, cost table, photo album, floor map, menu, guest list, key register, draft letter, sample
        box, film clip, price list, feedback form, route sketch, wall chart, leaflet""",
        ",",
    ),
    "mood": split_words("relaxed hectic patient hurried friendly quiet long muddled brisk pleasant"),
}
