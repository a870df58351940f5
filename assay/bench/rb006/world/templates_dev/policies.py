"""What the policies of the dev world regulate: topic → items with synonyms."""

from __future__ import annotations

from collections.abc import Mapping

from assay.bench.rb006.world.templates import PolicyItem


def _item(names: str, kind: str) -> PolicyItem:
    return PolicyItem(tuple(names.split("|")), kind)


POLICIES: Mapping[str, tuple[PolicyItem, ...]] = {
    "travel expenses": (
        _item("a hotel night|overnight lodging|a night of accommodation", "amount"),
        _item("daily meals|the per diem|subsistence", "amount"),
        _item("a taxi ride|a hired cab|chauffeured transfer", "amount"),
        _item("client entertainment|hospitality for guests", "amount"),
        _item("expense claims|reimbursement forms", "period"),
        _item("business class flights|premium cabin bookings", "approval"),
        _item("rail discount cards|season passes for trains", "share"),
        _item("mileage for a private car|kilometre money for own vehicles", "amount"),
        _item("airport parking|car parks at terminals", "amount"),
        _item("trip cancellations|called-off journeys", "period"),
    ),
    "remote work": (
        _item("working from abroad|telework in a foreign country", "period"),
        _item("home office furniture|ergonomic fittings at home", "amount"),
        _item("internet costs|broadband charges", "share"),
        _item("a second workplace|an alternate duty station", "approval"),
        _item("notice before a move|advance word of relocation", "period"),
        _item("a co-working desk|a rented hot desk", "amount"),
        _item("weekly presence in the office|attendance on site", "share"),
        _item("a private printer|printing gear at home", "amount"),
        _item("night work from home|late shifts away from the office", "approval"),
        _item("equipment returns|handing back borrowed gear", "period"),
    ),
    "information retention": (
        _item("customer contracts|client agreements", "period"),
        _item("call recordings|voice captures", "period"),
        _item("applicant files|candidate dossiers", "period"),
        _item("access logs|sign-in journals", "period"),
        _item("early deletion|premature disposal", "approval"),
        _item("sampled disposal checks|spot checks of shredding", "share"),
        _item("off-site storage|remote archiving", "amount"),
        _item("chat histories|messenger transcripts", "period"),
        _item("video footage|camera material", "period"),
        _item("legal holds|litigation freezes", "approval"),
    ),
    "access control": (
        _item("privileged accounts|administrator logins", "approval"),
        _item("password changes|renewal of passphrases", "period"),
        _item("dormant accounts|unused credentials", "period"),
        _item("visitor badges|guest passes", "period"),
        _item("access reviews|entitlement recertification", "share"),
        _item("lost key cards|mislaid badges", "amount"),
        _item("shared mailboxes|group inboxes", "approval"),
        _item("server room entry|admission to the data hall", "approval"),
        _item("failed login lockouts|blocks after wrong sign-ins", "period"),
        _item("a spare badge|a duplicate pass", "amount"),
    ),
    "purchasing": (
        _item("orders without a quote|buys with no competing bid", "amount"),
        _item("single source contracts|awards without a tender", "approval"),
        _item("advance payments|prepayments to suppliers", "share"),
        _item("invoice disputes|contested bills", "period"),
        _item("corporate card purchases|spending on plastic", "amount"),
        _item("software subscriptions|recurring licences", "approval"),
        _item("late delivery penalties|liquidated damages", "share"),
        _item("supplier gifts|presents from vendors", "amount"),
        _item("payment terms|time allowed to settle bills", "period"),
        _item("volume discounts|rebates for quantity", "share"),
    ),
    "learning": (
        _item("conference tickets|admission to symposia", "amount"),
        _item("certification exams|accreditation tests", "amount"),
        _item("language courses|tuition in languages", "share"),
        _item("study leave|time off for examinations", "period"),
        _item("external coaches|outside mentors", "approval"),
        _item("repayment after leaving|clawback on departure", "period"),
        _item("textbooks|printed reading matter", "amount"),
        _item("online courses|web-based trainings", "amount"),
        _item("exam retakes|second attempts at tests", "share"),
        _item("internal lectures|talks by colleagues", "period"),
    ),
    "equipment": (
        _item("a laptop|a portable computer|a notebook machine", "amount"),
        _item("a mobile phone|a handset", "amount"),
        _item("device replacement|hardware refresh", "period"),
        _item("private use of devices|personal use of kit", "approval"),
        _item("loss of a device|a missing gadget", "share"),
        _item("loaner devices|stopgap hardware", "period"),
        _item("monitors|display screens", "amount"),
        _item("a headset|earphones with a microphone", "amount"),
        _item("device insurance|cover for hardware", "share"),
        _item("purchase of used devices|buying retired kit", "approval"),
    ),
    "absence": (
        _item("parental leave|time off for new parents", "period"),
        _item("sick notes|medical certificates", "period"),
        _item("carry-over of holidays|transfer of unused vacation", "period"),
        _item("unpaid leave|a career break", "approval"),
        _item("pay during illness|salary while unwell", "share"),
        _item("bereavement leave|time off after a death", "period"),
        _item("a nursery subsidy|support for childcare", "amount"),
        _item("a wedding day off|leave for a marriage", "period"),
        _item("flexitime credit|hours saved up", "share"),
        _item("volunteer work|unpaid civic service", "period"),
    ),
}
