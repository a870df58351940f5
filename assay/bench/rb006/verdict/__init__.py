"""The verdict of RB-006: thresholds that were set in advance, and GO, NO-GO or KILL per hypothesis."""
