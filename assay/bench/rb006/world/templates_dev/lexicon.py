"""Names and words of the dev world."""

from __future__ import annotations

from collections.abc import Mapping

from assay.bench.rb006.world.templates import split_words

WORDS: Mapping[str, tuple[str, ...]] = {
    "first": split_words(
        """Amara Ben Carla Dmitri Elena Farid Greta Hugo Ines Jonas Keiko Lukas Mara Nadia Oskar Priya Quentin Rosa
        Samir Tessa Umar Vera Wanda Xavier Yara Zoltan Agnes Boris Celeste Dario Edith Fabio Gwen Hanna Ivo Jelena
        Karim Leona Milan Noor Olga Pavel Renata Sofia Tomas Ursula Viktor Wim Yusuf Zara Anton Bianca Clement Doris
        Emil Flora Gustav Helga Isak Judith Kasper Lydia Marek Nina Otto Petra Rafael Selma Theo Ulrike Valentin
        Willa Ayla Bruno"""
    ),
    "last": split_words(
        """Abara Bergström Castellano Dvorak Eriksen Fontaine Grubner Hashimoto Ivanova Jankowski Kovacs Lindqvist
        Moreau Novak Okafor Petrov Quispe Rossi Sandoval Takeda Ulrich Vasquez Weber Xiang Yilmaz Zimmer Adeyemi
        Brandt Coelho Danso Engel Ferreira Gallagher Holm Ibarra Jensen Kaplan Laurent Mbeki Nakamura Orlov Pereira
        Rahman Steiner Tanaka Urbina Virtanen Wagner Yoshida Zielinski Aalto Baptista Christou Drummond Eskola
        Farouk Gensler Hofstra Iyer Jovanovic Keller Lombardi Marchetti Nwosu Oduya Pavlidis Ruiz Schreiber Thorsen
        Unger Vlahos Whitmore Antunes Bassi Carvalho Duarte Eklund Fischer Greco Halvorsen Ishikawa Juarez Kimura
        Lachance Madsen Nkosi"""
    ),
    "domain": split_words(
        """Payments, Claims, Freight, Billing, Treasury, Catalogue, Underwriting, Returns, Loyalty, Fulfilment,
        Lending, Metering, Ticketing, Fleet, Warehouse, Pharmacy, Licensing, Subscriptions, Customs, Reinsurance,
        Grid, Tariff, Settlement, Procurement, Cargo, Admissions, Broadcast, Wholesale, Leasing, Recycling,
        Laboratory, Harbour, Aftersales, Pricing, Forecasting, Packaging, Energy Trading, Card Issuing, Field
        Service, Port Logistics""",
        ",",
    ),
    "function": split_words(
        """Engineering, Operations, Analytics, Platform, Quality, Support, Compliance, Integration, Planning, Intake,
        Automation, Reporting, Research""",
        ",",
    ),
    "service_first": split_words(
        """amber cobalt copper crimson delta ember falcon garnet granite hazel indigo iron ivory jasper juniper kestrel
        larch lunar maple marble meadow mint nickel north oak ochre onyx opal otter pearl pine plover polar quartz
        quill raven reef river rowan russet sable saffron sage sierra silver slate solar spruce stone storm swift
        tawny teal thistle thorn timber topaz tundra umber velvet walnut willow winter zephyr"""
    ),
    "service_last": split_words(
        """ledger gateway relay broker router vault index beacon bridge buffer cache courier dispatcher engine exporter
        feeder forge funnel hub importer inbox journal keeper ladder lens loader locator mapper matcher meter mirror
        monitor notifier outbox parser planner poller portal prober proxy queue ranker reader recorder registry
        resolver sampler scanner scheduler scorer sender sorter splitter spooler store streamer syncer tagger
        tracker validator viewer watcher weaver writer"""
    ),
    "project_first": split_words(
        """Silent Bright Quiet Golden Distant Hidden Northern Open Hollow Rapid Still Broken Early Late Green Blue Tall
        Narrow Wide Clear Lone Twin Second Inner Outer Western Misty Frosted Long Gentle Steady Bold"""
    ),
    "project_last": split_words(
        """Harbour Lantern Meridian Orchard Compass Summit Estuary Causeway Terrace Viaduct Lighthouse Glacier Canyon
        Prairie Lagoon Monsoon Aurora Cascade Obelisk Parapet Pavilion Quarry Rampart Saddle Steppe Tideline Turret
        Upland Valley Windmill Anchor Bastion Carousel Delta Embassy Foundry Granary Headland Isthmus Junction
        Keystone Landing Mosaic Nocturne Outpost Passage Quadrant Reservoir Sanctuary Trellis Umbrella Verge Wharf
        Yardstick"""
    ),
    "vendor_first": split_words(
        """Norvane Alticor Brightwell Calderon Dexmoor Evenhall Ferrox Galewick Halcyra Inverness Jorvik Kelmar Luxtide
        Merrow Nimbrel Orwick Pellucid Quorra Rivendale Stratos Tarn Ubiqua Valence Wexford Xantho Yarrow Zentral
        Ashgrove Bluefen Corvid Driftwood Elmstead Foxglove Greyfriar Hartwell Ironbark"""
    ),
    "vendor_last": split_words(
        """Systems, Cloud, Partners, Networks, Solutions, Logistics, Software, Data, Labs, Consulting, Telecom,
        Hosting, Analytics, Security, Robotics, Print, Mobility, Instruments, Staffing, Media, Energy, Facilities,
        Payroll, Translations, Archives, Couriers, Metrics, Interactive, Controls, Optics, Forensics, Catering,
        Leasing, Training, Biometrics, Acoustics, Pumps, Signage, Textiles, Ceramics, Minerals, Hydraulics""",
        ",",
    ),
    "city": split_words(
        """Lisbon, Rotterdam, Gdansk, Valencia, Bergen, Trieste, Antwerp, Porto, Tallinn, Malmo, Ghent, Bilbao, Krakow,
        Leeds, Nantes, Graz, Tampere, Cork, Brno, Thessaloniki, Aarhus, Basel, Turin, Uppsala""",
        ",",
    ),
    "location": split_words(
        """Frankfurt, Dublin, Stockholm, Zurich, Montreal, Singapore, Osaka, Sydney, Mumbai, Ohio, Oregon, Sao Paulo,
        Warsaw, Milan, Madrid, Helsinki, Seoul, Jakarta, Nairobi, Cape Town""",
        ",",
    ),
    "cluster_place": split_words("ams dub fra hel mad mil osl par rix sin sof sto tll vie waw zrh"),
    "role": split_words(
        """backend developer, data analyst, release coordinator, test engineer, product manager, business analyst, site
        reliability engineer, database administrator, process designer, user researcher, technical writer, security
        engineer, operations planner, contract specialist, scrum master, support lead""",
        ",",
    ),
    "approver": split_words(
        """line manager, regional controller, head of finance, security officer, legal counsel, people partner,
        procurement lead, works council, data protection officer, country director, travel desk, audit committee""",
        ",",
    ),
    "purpose": split_words(
        """address checks, text messages, card tokenisation, e-mail delivery, map tiles, document scanning, identity
        checks, currency rates, log archiving, fraud scoring, speech transcription, label printing, credit reports,
        translation, weather feeds, postal tracking""",
        ",",
    ),
    "setting": split_words(
        """retry limit, batch size, page size, session timeout, worker count, cache lifetime, upload limit, polling
        interval, connection pool, queue depth, rate limit, lock timeout, thread pool, heartbeat interval, backoff
        ceiling, history window, preview length, search depth""",
        ",",
    ),
    "symptom": split_words(
        """slow page loads, missing confirmation mails, duplicate rows in the export, a blank dashboard, wrong totals,
        stuck uploads, failed logins, a looping redirect, stale prices, garbled umlauts, lost attachments, empty
        search results, frozen progress bars, rejected signatures, out of order events, truncated reports, broken
        thumbnails, timeouts at checkout, missing audit entries, double notifications""",
        ",",
    ),
    "fix": split_words(
        """rebuilding the search index, rotating the certificate, clearing the message backlog, raising the memory
        limit, rolling back the last release, correcting the time zone, restoring the lookup table, renewing the
        token, disabling the faulty plug-in, repairing the nightly job, replacing a worn disk, updating the address
        book, restarting the worker pool, adding a missing column, pinning the driver, purging old sessions""",
        ",",
    ),
    "cause": split_words(
        """an expired certificate, a full disk, a mistyped firewall rule, a deadlock in the database, a leap day bug, a
        runaway query, a faulty network card, an unannounced schema change, a cold cache after failover, a wrong
        feature flag, a loop between two retries, a lost power feed, a stale DNS entry, an overloaded message
        broker, a memory leak in the parser, a missing index on a large table""",
        ",",
    ),
    "step": split_words(
        """the first alert fired, the night shift opened a bridge call, traffic was moved to the second site, the error
        budget alarm went off, a rollback was started, the rollback was stopped, a database snapshot was taken, the
        write path was paused, the backlog began to shrink, a partner reported timeouts, the status page was
        updated, the queue was drained by hand, a patched build was deployed, read-only mode was switched on,
        synthetic checks turned green, the bridge call was closed, two workers were restarted, the failover was
        rehearsed once more, the load balancer was drained, log levels were raised, a second team was called in, the
        vendor hotline was dialled, a stuck lock was found, the cache was warmed by hand, a wrong dashboard caused a
        detour, customers were told to retry, the change freeze was announced, a spare node was added, the audit
        trail was exported, the on-duty manager was woken""",
        ",",
    ),
    "task": split_words(
        """an alert for certificate expiry, a capacity test, a second approval for firewall changes, a dashboard for
        queue length, a runbook for failover, a limit on query runtime, a review of retry settings, a rehearsal of
        the restore, a check of power feeds, a cleanup of old flags""",
        ",",
    ),
    "decision": split_words(
        """freeze schema changes during quarter close, move the weekly demo to the first floor, retire the legacy fax
        line, adopt trunk based development, pause hiring for contractors, archive mail older than seven years,
        share one test environment with the neighbouring team, drop support for the old browser, publish the roadmap
        every quarter, require two reviewers for pricing code, merge the two newsletters, switch to metric labels,
        outsource the night shift, run the backup drill on Saturdays, close the small office over the holidays,
        rename the intake form, stop printing delivery slips, sign builds with hardware keys, offer a second
        training day, record every customer call, replace badge readers, shorten the stand-up, rotate the duty
        officer weekly, translate the help pages, lend the spare projector to the reception, keep the pilot running
        until spring, invite two outside speakers a year, hand the intranet page to a student, close the ticket
        queue during the move, paint the quiet room, test every restore twice, ban stickers on rented desks, order
        the furniture in one batch, publish salary bands, let visitors use the guest network, number the storage
        shelves""",
        ",",
    ),
    "item_filed": split_words(
        """the purchase order for the new racks, the warranty claim for the label printers, the fire inspection report,
        the insurance notice for the flooded basement, the export permit for the test devices, the audit request on
        badge logs, the lease amendment for the car park, the visa letter for the exchange engineer, the complaint
        about the cooling plant, the customs form for the spare antennas, the calibration record for the scales, the
        tender for cleaning services""",
        ",",
    ),
    "absent.service": split_words(
        """penetration test result, energy consumption, customer satisfaction score, recovery time objective,
        accessibility grade, data classification label""",
        ",",
    ),
    "absent.project": split_words(
        """carbon footprint, insured sum, steering committee quorum, code of conduct, lessons learned score, working
        language""",
        ",",
    ),
    "absent.vendor": split_words(
        "VAT number, credit rating, headcount, insurance certificate, stock ticker, complaints hotline", ","
    ),
    "absent.person": split_words(
        "date of birth, home address, driving licence, union membership, dietary preference, emergency contact", ","
    ),
    "ask.contract": split_words("contract number, contract id, contract code", ","),
    "ask.location": split_words("data location, hosting city, server location, data centre city", ","),
    "ask.contact": split_words("representative, key account person, liaison", ","),
    "ask.extension": split_words("phone number, telephone number, internal number", ","),
    "ask.number": split_words("personnel id, employee id, personnel code", ","),
    "ask.desk": split_words("desk, seat, workplace", ","),
    "ask.port": split_words("network port, TCP port, port number", ","),
    "ask.cluster": split_words("cluster, cluster name, compute cluster", ","),
    "ask.repository": split_words("repository, git path, source repository", ","),
    "ask.code": split_words("booking code, time recording code, accounting code", ","),
    "ask.pager": split_words("pager key, on-call key, paging code", ","),
    "via.service.vendor": split_words("the supplier behind {start}, the outside firm that {start} leans on", ","),
    "via.service.owner": split_words("the person responsible for {start}, whoever maintains {start}", ","),
    "via.service.dependency": split_words("whatever {start} is built on, the component that {start} needs", ","),
    "via.project.vendor": split_words("the subcontractor on {start}, the external partner in {start}", ","),
    "via.project.service": split_words("the application that {start} renews, the software touched by {start}", ","),
    "via.ticket.service": split_words("the software named in {start}, the application that {start} is about", ","),
    "weekday": split_words("Monday Tuesday Wednesday Thursday Friday"),
    "room": split_words("Aspen Birch Cedar Dogwood Elder Fir Ginkgo Hornbeam Linden Magnolia Rowan Sequoia"),
    "thing": split_words(
        """slides, figures, draft, agenda, checklist, screenshots, survey, mock-up, glossary, timeline, handout,
        spreadsheet, floor plan, wording, diagram, notes""",
        ",",
    ),
    "mood": split_words("calm busy uneven productive short lively slow tense cheerful ordinary"),
}
