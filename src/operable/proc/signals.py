"""Resets ignored signals before a child starts.

Ignoring a signal is inherited through exec, catching one is not. A shell starts background jobs with SIGINT ignored and
`nohup` ignores SIGHUP; a tool that is started from there could not be interrupted, and a shell script cannot even trap what
was ignored on its entry. So before the first start every ignored signal gets a handler that does nothing: for this process
that is the same as ignoring it, for a child it is the default again.

`signal.signal` works in the main thread only and processes are started in any; the C API's PyOS_setsig has no such rule.
"""

import signal

# Not SIGCHLD: a host that ignores it wants its children reaped by the kernel.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM")


def hear() -> None:
    """To be called before a process is started; costs next to nothing when nothing is ignored."""
    numbers = (signal.Signals[name] for name in _NAMES)
    deaf = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    if deaf:
        _handle(deaf)


def _handle(numbers: list[signal.Signals]) -> None:
    import ctypes

    # A handler must be C: Python code may not run inside a signal. abs(number) has no effect on anything.
    nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p)
    set_handler = ctypes.pythonapi.PyOS_setsig
    set_handler.restype = ctypes.c_void_p
    set_handler.argtypes = [ctypes.c_int, ctypes.c_void_p]
    for number in numbers:
        set_handler(number, nothing)
