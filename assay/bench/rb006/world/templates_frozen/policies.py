"""What the policies of the frozen world regulate: topic → items with synonyms."""

from __future__ import annotations

from collections.abc import Mapping

from assay.bench.rb006.world.templates import PolicyItem


def _item(names: str, kind: str) -> PolicyItem:
    return PolicyItem(tuple(names.split("|")), kind)


POLICIES: Mapping[str, tuple[PolicyItem, ...]] = {
    "uniforms and workwear": (
        _item("safety boots|protective footwear", "amount"),
        _item("a winter coat|cold-weather outerwear", "amount"),
        _item("laundry of workwear|cleaning of work clothes", "share"),
        _item("name tags|identity pins", "amount"),
        _item("replacement of torn trousers|new legwear after damage", "period"),
        _item("tailoring|alterations by a seamstress", "amount"),
        _item("return of the uniform|giving the kit back", "period"),
        _item("private wear of the uniform|use of the kit off duty", "approval"),
        _item("summer headgear|sun hats", "amount"),
        _item("jewellery on duty|rings and necklaces at work", "approval"),
    ),
    "shift work": (
        _item("rest between shifts|breathing space after a turn", "period"),
        _item("the Sunday supplement|extra pay for the Sabbath", "share"),
        _item("swapping a shift|trading turns", "approval"),
        _item("publication of the roster|announcement of the schedule", "period"),
        _item("a taxi home after midnight|a late ride to one's door", "amount"),
        _item("standby from home|being reachable off site", "share"),
        _item("double shifts|two turns in a row", "approval"),
        _item("meal money at night|a nocturnal food allowance", "amount"),
        _item("sleep-in duty|overnight presence with a bed", "share"),
        _item("overtime credit|extra hours on the account", "period"),
    ),
    "visitors and events": (
        _item("a guided tour|a walk with a guide", "amount"),
        _item("school group bookings|reservations for classes", "period"),
        _item("filming on the premises|shooting video on site", "approval"),
        _item("lost property|items left behind", "period"),
        _item("refund of tickets|money back for admission", "share"),
        _item("room rental|letting of halls", "amount"),
        _item("serving alcohol|pouring wine and beer", "approval"),
        _item("dogs on a leash|four-legged companions", "approval"),
        _item("cloakroom fees|charges for hanging coats", "amount"),
        _item("companions of disabled guests|escorts for people with a handicap", "share"),
    ),
    "vehicles": (
        _item("fuel cards|filling up on account", "amount"),
        _item("private trips with a company van|personal journeys in the firm's car", "approval"),
        _item("parking fines|penalties for wrong parking", "share"),
        _item("tyre changes|fitting of new wheels", "period"),
        _item("a rented trailer|a hired tow cart", "amount"),
        _item("washing the bus|cleaning of coaches", "period"),
        _item("dashboard cameras|recorders behind the windscreen", "approval"),
        _item("charging at home|loading electric cars in one's garage", "amount"),
        _item("accident reports|written accounts of a crash", "period"),
        _item("the excess after damage|one's own part of repair costs", "share"),
    ),
    "medicines and supplies": (
        _item("storage of vaccines|keeping of jabs", "period"),
        _item("opened ointment tubes|salves once in use", "period"),
        _item("controlled drugs|narcotics from the safe", "approval"),
        _item("the reserve of dressings|spare bandages", "share"),
        _item("first aid boxes|emergency kits on the wall", "amount"),
        _item("samples from salesmen|free trial packs", "approval"),
        _item("disposal of needles|getting rid of sharps", "period"),
        _item("oxygen bottles|breathing gas cylinders", "amount"),
        _item("stock differences|gaps in the count", "share"),
        _item("emergency purchases at a pharmacy|urgent buys over the counter", "amount"),
    ),
    "volunteers": (
        _item("the travel allowance for volunteers|fares of unpaid helpers", "amount"),
        _item("a background check|a certificate of good conduct", "period"),
        _item("hours per week|the weekly commitment", "period"),
        _item("a thank-you gift|a token of gratitude", "amount"),
        _item("work with children|tasks among minors", "approval"),
        _item("insurance of helpers|cover for unpaid staff", "share"),
        _item("the trial time|the first weeks on probation", "period"),
        _item("keys for volunteers|handing door openers to helpers", "approval"),
        _item("meals for helpers|food for unpaid staff", "amount"),
        _item("reference letters|written recommendations", "approval"),
    ),
    "energy and waste": (
        _item("room temperature cuts|lowering of the thermostat", "share"),
        _item("collection of batteries|pick-up of used cells", "period"),
        _item("skip hire|ordering a waste container", "amount"),
        _item("private fridges|cooling boxes of one's own", "approval"),
        _item("paper per head|sheets for each person", "amount"),
        _item("composting|rotting of garden cuttings", "share"),
        _item("hazardous leftovers|remains that are toxic", "period"),
        _item("night lighting|lamps after closing time", "approval"),
        _item("bottled water|drinks in flasks", "amount"),
        _item("recycling of cardboard|reuse of boxes", "share"),
    ),
    "complaints": (
        _item("the first reply to a complaint|an initial answer to a grievance", "period"),
        _item("goodwill payments|money offered for the trouble", "amount"),
        _item("anonymous letters|unsigned notes", "approval"),
        _item("repeat complaints|grievances raised once more", "share"),
        _item("the ombudsman|the independent mediator", "approval"),
        _item("deletion of complaint files|wiping of grievance records", "period"),
        _item("vouchers for delayed passengers|coupons after a late arrival", "amount"),
        _item("site visits after a complaint|inspections following a grievance", "period"),
        _item("replies to the press|answers for journalists", "approval"),
        _item("reimbursed postage|stamps paid back", "amount"),
    ),
}
