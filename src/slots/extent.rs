//! What a claim takes up of a slot: the whole of it, a period, units of a pool, or units
//! for a period.

use crate::backend::value::Instant;

/// From an instant up to, but not including, another: touching periods do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub from: Instant,
    pub to: Instant,
}

impl Period {
    pub fn overlaps(self, other: Self) -> bool {
        self.from < other.to && other.from < self.to
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub period: Option<Period>,
    pub units: Option<i32>,
}

impl Extent {
    pub const WHOLE: Self = Self { period: None, units: None };

    pub fn is_whole(self) -> bool {
        self == Self::WHOLE
    }

    /// Units of one pool for one time add up; nothing else does.
    pub fn plus(self, other: Self) -> Option<Self> {
        let units = self.units?.saturating_add(other.units?);
        (self.period == other.period).then_some(Self { units: Some(units), ..self })
    }

    /// Whether a claim of this extent has to look at one of that: everything has to look
    /// at a claim of the whole slot, and what takes units only at what takes units. Units
    /// without a period are counted by the pool.
    pub fn meets(self, other: Self) -> bool {
        other.is_whole()
            || self.units.is_some() == other.units.is_some()
                && other.counted_units().is_none()
                && self.is_at_a_time_with(other)
    }

    /// Whether there is an instant that both take up.
    pub fn is_at_a_time_with(self, other: Self) -> bool {
        match (self.period, other.period) {
            (Some(one), Some(other)) => one.overlaps(other),
            _ => true,
        }
    }

    /// The units that `claims.pools` counts: those that are taken at every instant.
    pub fn counted_units(self) -> Option<i32> {
        self.units.filter(|_| self.period.is_none())
    }
}

/// The most units that are taken at any one instant.
pub fn peak(taken: &[(Period, i32)]) -> i64 {
    let mut steps: Vec<(Instant, i64)> = taken
        .iter()
        .flat_map(|(period, units)| {
            [(period.from, i64::from(*units)), (period.to, -i64::from(*units))]
        })
        .collect();
    // At one instant those who leave go first: touching periods do not overlap.
    steps.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, step) in steps {
        now += step;
        most = most.max(now);
    }
    most
}
