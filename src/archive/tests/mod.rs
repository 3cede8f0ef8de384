pub(super) mod faults;
