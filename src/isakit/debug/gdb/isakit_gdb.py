"""For gdb, not for isakit: `source` this file in gdb for listings of our instructions and for our commands.

    (gdb) source .../isakit_gdb.py
    (gdb) target remote :4040
    (gdb) x/4i $pc
    (gdb) warp 1 5

If gdb was given no file, lines and variables come from the server at the first stop in each program or kernel.

Commands: `isakit COMMAND` (a command of `isakit debug`: `isakit info stack`), `warp [N [LANE]]`, `lane N`. Functions:
`$at("s", 0x40)` (the address of a memory's byte), `$label("loop")`. Listings need gdb 12 or later.
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false, reportArgumentType=false

import base64
import re
import tempfile
from pathlib import Path

import gdb


def monitor(line):
    """Send a command to the server and return its answer. Raises gdb.GdbError if it fails."""
    text = gdb.execute("monitor " + line, to_string=True)
    if text.startswith("error: "):
        raise gdb.GdbError(text[len("error: ") :].strip())
    return text


class Isakit(gdb.Command):
    """isakit COMMAND: a command of `isakit debug`; `isakit help` lists them."""

    def __init__(self):
        super().__init__("isakit", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        """Execute the command, and invalidate gdb's cached registers and memory."""
        gdb.write(monitor(argument))
        forget()


def forget():
    """Invalidate gdb's cached registers and memory, since the server may have moved."""
    for what in ("register-cache", "dcache"):
        try:
            gdb.execute("maintenance flush " + what, to_string=True)
        except gdb.error:  # an older gdb
            gdb.execute("flushregs", to_string=True)


class WarpCommand(gdb.Command):
    """warp [N [LANE]]: the group's lanes, registers and stack; with a number, go to that warp and lane first."""

    def __init__(self):
        super().__init__("warp", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        """Switch to the thread that the argument names, and show it."""
        words = argument.split()
        if words:
            go_to(int(words[0], 0))
            if len(words) > 1:
                monitor(f"focus warp {int(words[0], 0)} lane {int(words[1], 0)}")
                forget()
        for pane in ("lanes", "registers", "stack"):
            gdb.write(monitor("info " + pane))


def go_to(number):
    """Select the gdb thread of a warp."""
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == number + 1 or thread.ptid[2] == number + 1:
            thread.switch()
            return
    raise gdb.GdbError(f"no warp {number}")


class Lane(gdb.Command):
    """lane N: look at the registers of another lane of this warp."""

    def __init__(self):
        super().__init__("lane", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        """Move the focus to the lane."""
        gdb.write(monitor(f"focus warp {int(gdb.parse_and_eval('$_thread_warp()'))} lane {int(argument, 0)}"))
        forget()


class ThreadWarp(gdb.Function):
    """$_thread_warp(): the number of the selected warp."""

    def __init__(self):
        super().__init__("_thread_warp")

    def invoke(self):
        """Focus a thread by its number at the server."""
        ptid = gdb.selected_thread().ptid
        return (ptid[1] or ptid[2]) - 1


class At(gdb.Function):
    """$at("s", 0x40): the address at which gdb finds a byte of a memory."""

    def __init__(self):
        super().__init__("at")

    def invoke(self, space, address=0):
        """Look it up in the server's list."""
        for line in monitor("memories").splitlines():
            name, start = line.split()[:2]
            if name == space.string():
                return int(start, 0) + int(address)
        raise gdb.GdbError(f"no memory {space.string()}")


class LabelFunction(gdb.Function):
    """$label("loop"): the address of a label."""

    def __init__(self):
        super().__init__("label")

    def invoke(self, name):
        """Ask the server for the value of the name."""
        return int(monitor("label " + name.string()), 0)


class Symbols:
    """Lines and variables of the running program, as the server knows them."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="isakit-gdb-")
        self.ptx = Path(self.folder.name, "kernel.ptx")
        self.loaded = ""
        gdb.events.stop.connect(self.stopped)

    def stopped(self, event):
        """Load them when another program has begun."""
        space = gdb.current_progspace()
        if not self.loaded and space is not None and space.filename:  # the user's own file
            return
        try:
            told = monitor(f"symbols {self.ptx}").strip()
        except gdb.error:  # no server of ours
            return
        if told not in ("=", self.loaded or "-"):
            self.load(told)

    def load(self, told):
        """Fetch a file, and make gdb load it in place of the previous program's; `-` means none."""
        self.loaded = "" if told == "-" else told
        if told == "-":
            gdb.execute("symbol-file", to_string=True)
            return
        digest, size, more = told.split()
        content = b""
        while len(content) < int(size) + int(more):
            content += base64.b64decode(monitor(f"symbols {self.ptx} {len(content)}"))
        file = self.ptx.with_name(digest[:16])
        file.write_bytes(content[: int(size)])
        self.ptx.write_bytes(content[int(size) :])
        gdb.execute(f"symbol-file {file}", to_string=True)


SYMBOLS = Symbols()
for command in (Isakit, WarpCommand, Lane, ThreadWarp, At, LabelFunction):
    command()

try:
    import gdb.disassembler
except ImportError:
    gdb.write("This gdb shows no listings of our instructions; `isakit list` does.\n")
else:

    class Listing(gdb.disassembler.Disassembler):
        """Instructions as the server's disassembler writes them."""

        def __init__(self):
            super().__init__("isakit")

        def __call__(self, info):
            """Return the instruction at an address; None leaves it to gdb."""
            try:
                answer = monitor(f"instruction {info.address:#x}")
            except gdb.error:  # no server of ours
                return None
            m = re.match(r"(\d+) (.*)", answer)
            if m is None:
                return None
            return gdb.disassembler.DisassemblerResult(int(m[1]), m[2])

    gdb.disassembler.register_disassembler(Listing(), "i386:x86-64")
