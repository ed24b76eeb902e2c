"""Campaigns of random tests: a seed makes a case, a check says what the case covers or raises.

Cases are plain data, so that one that fails can be made smaller and written down as a test. `tools/farm` runs campaigns
in worker processes for as long as it is told to; `tests/property/test_farm.py` plants bugs and has them found.
"""

from support.farm.campaign import CAMPAIGNS, Campaign, Wrong, campaign

__all__ = ["CAMPAIGNS", "Campaign", "Wrong", "campaign"]
