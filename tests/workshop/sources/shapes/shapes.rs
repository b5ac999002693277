//! Rooms that are measured.
use std::collections::HashMap;
use std::fmt;

pub const LIMIT: usize = 3;

#[derive(Debug, Clone)]
pub struct Shape<T> {
    first: T,
}

pub struct Round(pub i32);

pub trait Measured {
    const MOST: i32 = 9;

    fn area(&self) -> i32;

    fn twice(&self) -> i32 {
        self.area() * 2
    }
}

impl<T: Clone> Shape<T> {
    /// Makes one.
    pub fn new(first: T) -> Self {
        Self { first }
    }

    #[inline]
    pub async fn mapped<R, F>(&self, how: F) -> Vec<R>
    where
        F: Fn(&T) -> R,
    {
        vec![how(&self.first)]
    }
}

impl Round {
    pub fn new(radius: i32) -> Self {
        Round(radius)
    }
}

impl Measured for Round {
    fn area(&self) -> i32 {
        3 * self.0
    }
}

impl<T> Measured for Shape<T> {
    fn area(&self) -> i32 {
        4
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

pub mod rooms {
    pub fn area(side: i32) -> i32 {
        side
    }

    pub struct Room;

    impl Room {
        pub unsafe fn new() -> Self {
            Room
        }
    }
}

pub fn area(side: i32) -> i32 {
    side * side
}

macro_rules! measured {
    ($it:expr) => {
        $it.area()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_is_square() {
        assert_eq!(area(2), 4);
    }
}
