//! What only the whole shows. Each answer is a pure function of merged evidence, so it is the same for any split of a log.

mod apps;
mod campaigns;
mod memory;
mod probers;

pub use apps::DetectedApps;
pub use campaigns::{CampaignGroup, find_campaigns};
pub use memory::{RuleHashes, SiteHistory, SiteName};
pub use probers::ProberSet;
