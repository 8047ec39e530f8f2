//! Signals are held back while a lock is held.
//!
//! From each try of `mkdir` to the release every catchable signal that ends or stops a process is
//! masked, and delivered after it, so that only SIGKILL, an out-of-memory kill and power loss leave
//! a lock behind. Between tries it is not: who waits for a lock can be interrupted. The server
//! holds them back for longer, until the answer is written, so waiting lets them through explicitly
//! ([`sleep_interruptibly`]) instead of trusting what the mask was before.
//!
//! The mask is the calling thread's. A process with more threads must mask signals in the others.

use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow};

/// While this value lives, signals wait.
#[derive(Debug)]
pub struct HeldBack {
    before: Option<SigSet>,
}

impl HeldBack {
    /// Masks every signal that can be masked.
    #[must_use]
    pub fn now() -> Self {
        HeldBack { before: SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK).ok() }
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // The only error is an invalid `how`; there is nobody to tell.
            let _ = before.thread_set_mask();
        }
    }
}

/// Sleeps with no signal masked: whatever is pending or arrives meanwhile takes its effect, also
/// when a [`HeldBack`] lives around it. For who holds no lock.
pub fn sleep_interruptibly(duration: Duration) {
    let before = SigSet::empty().thread_swap_mask(SigmaskHow::SIG_SETMASK);
    std::thread::sleep(duration);
    drop(HeldBack { before: before.ok() });
}

/// Keeps a file size limit from killing the holder of a lock: the write fails with `EFBIG` instead,
/// which is taken back like any other failed write.
pub fn survive_file_size_limit() {
    use std::sync::Once;
    use std::sync::atomic::AtomicBool;
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // Any handler will do; that of a flag that nobody reads is the smallest.
        let flag = std::sync::Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag);
    });
}
