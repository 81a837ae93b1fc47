//! The results of a generator, kept until it has ended: in memory up to a limit, then on disk.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};

use bytes::Bytes;

/// Beyond this many bytes results go to disk.
pub const MEMORY_BYTES: usize = 8 << 20;

/// Results in their order.
#[derive(Debug)]
pub struct Spool {
    limit: usize,
    memory: Vec<Bytes>,
    bytes: usize,
    file: Option<BufWriter<File>>,
    count: usize,
}

/// Reads what was spooled.
#[derive(Debug)]
pub enum Spooled {
    /// From memory.
    Memory(std::vec::IntoIter<Bytes>),
    /// From disk: how many are left, and where.
    Disk(usize, BufReader<File>),
}

impl Spool {
    /// An empty one, which holds this many bytes in memory.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            memory: Vec::new(),
            bytes: 0,
            file: None,
            count: 0,
        }
    }

    /// Adds a result.
    ///
    /// # Errors
    /// When the temporary folder takes no more.
    pub fn push(&mut self, result: Bytes) -> io::Result<()> {
        self.count += 1;
        self.bytes += result.len();
        if let Some(file) = &mut self.file {
            return write(file, &result);
        }
        self.memory.push(result);
        if self.bytes > self.limit {
            // Without a name: it goes with the process, however that ends.
            let mut file = BufWriter::new(tempfile::tempfile()?);
            for result in std::mem::take(&mut self.memory) {
                write(&mut file, &result)?;
            }
            self.file = Some(file);
        }
        Ok(())
    }

    /// Returns the number of results.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether the spool holds no frames.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The results, from the first.
    ///
    /// # Errors
    /// When the file cannot be written or read.
    pub fn read(self) -> io::Result<Spooled> {
        match self.file {
            None => Ok(Spooled::Memory(self.memory.into_iter())),
            Some(file) => {
                let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.seek(SeekFrom::Start(0))?;
                Ok(Spooled::Disk(self.count, BufReader::new(file)))
            }
        }
    }
}

impl Iterator for Spooled {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Memory(results) => results.next().map(Ok),
            Self::Disk(0, _) => None,
            Self::Disk(left, file) => {
                *left -= 1;
                Some(read(file))
            }
        }
    }
}

fn write(file: &mut BufWriter<File>, result: &[u8]) -> io::Result<()> {
    file.write_all(&(result.len() as u64).to_le_bytes())?;
    file.write_all(result)
}

fn read(file: &mut BufReader<File>) -> io::Result<Bytes> {
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
    let mut result = vec![0; length];
    file.read_exact(&mut result)?;
    Ok(result.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_in_their_order_from_memory_and_from_disk() {
        let results: Vec<Bytes> = (0..20_u8).map(|n| vec![n; usize::from(n)].into()).collect();
        for limit in [0, 50, 1000] {
            let mut spool = Spool::new(limit);
            for result in &results {
                spool.push(result.clone()).unwrap();
            }
            assert_eq!(spool.len(), 20);
            assert_eq!(spool.file.is_some(), limit < 190, "{limit}");
            let read: Vec<Bytes> = spool.read().unwrap().map(Result::unwrap).collect();
            assert_eq!(read, results, "{limit}");
        }
    }
}
