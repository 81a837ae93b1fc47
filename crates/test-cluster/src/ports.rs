//! Ports for servers, reserved across all test programs of this machine.

use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::process;
use std::sync::{Mutex, PoisonError};

/// Below the range from which Linux takes the ports of outgoing connections (32768 to 60999), so that
/// no connection gets a port before its server listens.
const RANGE: std::ops::Range<u16> = 20_000..30_000;

/// Locks of the ports that this program has reserved, until it ends.
static RESERVED: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Returns ports on 127.0.0.1 that nobody listens on and that no other call returns while this
/// program runs, here or in another test program.
///
/// # Panics
/// If all ports from 20000 to 29999 are taken.
pub fn reserve<const N: usize>() -> [u16; N] {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let length = usize::from(RANGE.end - RANGE.start);
    // Programs start their search in different places, so that it is short.
    let offset = usize::try_from(process::id()).unwrap_or_default() * 97;
    let mut candidates = RANGE.cycle().skip(offset % length).take(length);
    std::array::from_fn(|_| {
        let found = candidates.find_map(|port| Some((port, lock(port)?)));
        let (port, lock) = found.expect("a free port from 20000 to 29999");
        reserved.push(lock);
        port
    })
}

/// A lock on the port's file, if no program has it and nobody listens.
fn lock(port: u16) -> Option<File> {
    let folder = env::temp_dir().join("asya-test-ports");
    fs::create_dir_all(&folder).ok()?;
    let file = File::create(folder.join(port.to_string())).ok()?;
    file.try_lock().ok()?;
    TcpListener::bind(("127.0.0.1", port)).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_not_reserved_again() {
        let [first, second] = reserve();
        let [third] = reserve();
        assert!(first != second && first != third && second != third);
        assert!(lock(first).is_none());
    }

    #[test]
    fn a_port_in_use_is_not_reserved() {
        let [port] = reserve();
        let other = RANGE
            .rev()
            .find(|other| *other != port && lock(*other).is_some());
        let other = other.unwrap();
        let _listener = TcpListener::bind(("127.0.0.1", other)).unwrap();
        assert!(lock(other).is_none());
    }
}
