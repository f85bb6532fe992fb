"""A flush in progress: the files to fsync, and the log's end when the flush began.

Owns: the order of fsyncs. It is an object of its own because an fsync may take a second: the log goes on appending in
the event loop while `sync` runs in a thread.
Invariants: `sync` touches no state of the log; it only leaves `error`.
            I-FLUSH-2 a file that was deleted meanwhile needs no fsync: the log dropped its data on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minikafka.log.disk import File, Fs


@dataclass(eq=False)
class LogFlush:
    """The files to sync, at the time when `Log.start_flush` made it."""

    fs: Fs
    end_offset: int
    truncations: int  # the log's count when the flush began: a later truncation makes its result void
    files: list[File] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    folder: str = ""  # stays empty if no file came or went
    error: OSError | None = None

    def include(self, earlier: LogFlush) -> None:
        """Add the files of another flush that is still under way."""
        self.files += earlier.files
        self.paths += earlier.paths
        self.folder = self.folder or earlier.folder

    def sync(self) -> None:
        """Sync everything with fsync; blocks, may run in a thread. An error is kept for `Log.finish_flush` and never
        retried (rule 67)."""
        try:
            for file in self.files:
                file.fsync()
            for path in self.paths:
                self._sync_path(path)
            if self.folder:
                self.fs.sync_dir(self.folder)
        except OSError as error:
            self.error = error

    def _sync_path(self, path: str) -> None:
        try:
            file = self.fs.open(path, create=False)
        except FileNotFoundError:
            return
        try:
            file.fsync()
        finally:
            file.close()
