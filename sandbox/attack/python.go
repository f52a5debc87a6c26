package attack

// Programs in Python reach the system: its container is what holds them, and
// these attacks go for that.

import "strings"

// afterPython is the program that runs after each attack in Python.
const afterPython = `import builtins, os
return [1 + 1, os.path.exists("/tmp/leftover"), hasattr(builtins, "leftover"), len([p for p in os.listdir("/proc") if p.isdigit()])]`

// afterPythonWant is what it returns: nothing was left, and no process but its own.
const afterPythonWant = `[2,false,false,1]`

// attempts wraps expressions, each of which must fail: it returns those that did
// not.
func attempts(imports string, tries ...string) string {
	var code strings.Builder
	code.WriteString("import " + imports + "\ngot = []\ndef attempt(name, f):\n    try:\n        got.append(name + ': ' + str(f())[:100])\n    except BaseException:\n        pass\n")
	for _, t := range tries {
		code.WriteString("attempt(" + `"""` + t + `"""` + ", lambda: " + t + ")\n")
	}
	return code.String() + "return ', '.join(got) or 'contained'"
}

// frames wraps a program that sends frames by itself: frame writes one to every
// descriptor that might be the stream to the host.
func frames(code string) string {
	return `import os, struct, json
def send(data):
    for fd in range(3, 16):
        try:
            if os.fstat(fd):
                os.write(fd, data)
        except OSError:
            pass
def frame(kind, number, payload):
    send(kind + struct.pack(">II", number, len(payload)) + payload)
def done(value):
    head = json.dumps({"exit_code": 0}).encode()
    frame(b"D", 0, struct.pack(">I", len(head)) + head + value)
def call(number, target=b"demo__echo", args=b"{}"):
    frame(b"C", number, struct.pack(">H", 4) + b"call" + struct.pack(">I", len(target)) + target + args)
` + code
}

var pythonTime = []Attack{
	{Name: "an endless loop", Code: "while True:\n    pass"},
	{Name: "a loop that catches everything", Code: "while True:\n    try:\n        while True: pass\n    except BaseException: pass"},
	{Name: "a loop that ignores the clock", Code: "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass"},
	{Name: "a loop that blocks all signals", Code: "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass"},
	{Name: "a very long sleep", Code: "import time\ntime.sleep(1e6)"},
	{Name: "an endless loop of awaits", Code: "import asyncio\nwhile True:\n    await asyncio.sleep(0)"},
	{Name: "a thread that never ends", Code: "import threading\ndef f():\n    while True: pass\nt = threading.Thread(target=f)\nt.start()\nt.join()"},
	{Name: "a loop in what is printed", Code: "class X:\n    def __str__(self):\n        while True: pass\nprint(X())"},
	{Name: "a loop in what is returned", Code: "class X:\n    def isoformat(self):\n        while True: pass\nreturn X()"},
	{Name: "a loop in what is raised", Code: "class X(Exception):\n    def __str__(self):\n        while True: pass\nraise X()"},
	{Name: "a loop at the exit", Code: "import atexit\ndef f():\n    while True: pass\natexit.register(f)\nimport sys\nsys.exit(0)"},
	{Name: "a lock that is never released", Code: "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()"},
	{Name: "waiting for input", Code: "import os\nos.dup2(os.pipe()[0], 0)\nos.read(0, 1)"},
}

var pythonNative = []Attack{
	{Name: "a huge integer", Code: "10 ** (10 ** 10)"},
	{Name: "a huge integer is written", Code: "import sys\nsys.set_int_max_str_digits(0)\nstr(1 << (1 << 27))"},
	{Name: "a pattern that backtracks", Code: "import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')"},
	{Name: "a huge sum", Code: "sum(range(10 ** 15))"},
	{Name: "a search that never ends", Code: "import itertools\n-1 in itertools.count()"},
	{Name: "an iterator that never ends", Code: "import collections, itertools\ncollections.deque(itertools.repeat(0), maxlen=0)"},
}

var pythonMemory = []Attack{
	{Name: "text that doubles", Code: "s = 'x'\nwhile True:\n    s += s"},
	{Name: "buffers for ever", Code: "a = []\nwhile True:\n    a.append(bytearray(1 << 20))"},
	{Name: "objects for ever", Code: "a = []\nwhile True:\n    a.append({'a': {}, 'b': [1, 2, 3], 'c': 'x%d' % len(a)})"},
	{Name: "memory errors are caught", Code: "a = []\nwhile True:\n    try:\n        while True: a.append(bytes(1 << 24))\n    except MemoryError: pass"},
	{Name: "one huge buffer", Code: "b = bytearray(8 * 10 ** 9)\nfor i in range(0, len(b), 4096): b[i] = 1"},
	{Name: "mapped memory for ever", Code: "import mmap\na = []\nwhile True:\n    m = mmap.mmap(-1, 1 << 24)\n    m.write(b'x' * (1 << 24))\n    a.append(m)"},
	{Name: "files in memory for ever", Code: "import os\ntry:\n    n = 0\n    while True:\n        with open('/tmp/%d' % n, 'wb') as f: f.write(b'x' * (1 << 20))\n        n += 1\nexcept OSError:\n    r = 'contained' if n < 256 else n\nr", Want: contained},
	{Name: "shared memory for ever", Code: "try:\n    n = 0\n    with open('/dev/shm/x', 'wb') as f:\n        while True:\n            f.write(b'x' * (1 << 20)); f.flush()\n            n += 1\nexcept OSError:\n    r = 'contained' if n < 64 else n\nr", Want: contained},
	{Name: "memory of many processes", Code: "import os, time\nfor i in range(40):\n    try:\n        if os.fork() == 0:\n            b = bytearray(1 << 26)\n            for i in range(0, len(b), 4096): b[i] = 1\n            time.sleep(1000)\n    except OSError: break\ntime.sleep(1000)"},
	{Name: "an archive that explodes", Code: "import zlib\nd = zlib.compress(bytes(1 << 26))\na = []\nwhile True:\n    a.append(zlib.decompress(d))"},
	{Name: "a huge result", Code: "return 'x' * (1 << 26)"},
	{Name: "a huge argument of a call", Code: "await call_mcp_tool('demo__echo', {'s': 'x' * 50_000_000})"},
}

var pythonStack = []Attack{
	{Name: "recursion", Code: "def f():\n    return f() + 1\nf()"},
	{Name: "recursion without a limit", Code: "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f():\n    return f() + 1\nf()"},
	{Name: "recursion through built-ins", Code: "import sys\nsys.setrecursionlimit(10 ** 9)\nclass X:\n    def __repr__(self): return repr([self])\nrepr(X())"},
	{Name: "a deep result", Code: "a = []\nfor i in range(10 ** 6): a = [a]\nreturn a"},
	{Name: "a deep value is printed", Code: "a = {}\nfor i in range(10 ** 6): a = {'a': a}\nprint(a)"},
	{Name: "eval of many brackets", Code: "eval('(' * 10 ** 6)"},
	{Name: "JSON of many brackets", Code: "import json\njson.loads('[' * 10 ** 6)"},
	{Name: "a null pointer", Code: "import ctypes\nctypes.string_at(0)"},
	{Name: "code that is none", Code: "import types\nf = lambda: 0\nf.__code__ = f.__code__.replace(co_code=b'\\x64\\xff' * 100)\nf()"},
}

var pythonFlood = []Attack{
	{Name: "lines for ever", Code: "while True:\n    print('x')"},
	{Name: "long lines for ever", Code: "s = 'x' * 10 ** 7\nwhile True:\n    print(s)"},
	{Name: "errors for ever", Code: "import sys\nwhile True:\n    print('x' * 10 ** 4, file=sys.stderr)"},
	{Name: "bytes to the descriptors for ever", Code: "import os\nwhile True:\n    os.write(1, b'x' * 65536)\n    os.write(2, b'x' * 65536)"},
	{Name: "calls for ever", Code: "import asyncio\ntasks = []\nwhile True:\n    tasks.append(asyncio.create_task(call_mcp_tool('demo__slow')))\n    await asyncio.sleep(0)"},
	{Name: "calls one after the other for ever", Code: "while True:\n    try:\n        await call_mcp_tool('demo__echo')\n    except ToolError: pass"},
	{Name: "calls with large arguments for ever", Code: "import asyncio\ns = 'x' * 10 ** 6\nwhile True:\n    asyncio.create_task(call_mcp_tool('demo__slow', {'s': s}))\n    await asyncio.sleep(0)"},
	{Name: "long names of tools for ever", Code: "n = 'a.b__' * 80_000\nwhile True:\n    try:\n        await call_mcp_tool(n)\n    except Exception: pass"},
	{Name: "keys for ever", Code: "for i in range(200):\n    await store.set('k%d' % i, 'x' * 100_000)\nwhile True:\n    try:\n        await store.keys()\n    except Exception: pass"},
	{Name: "calls through a skill for ever", Code: "while True:\n    try:\n        await skills.call('attack', 'start', {})\n    except Exception: pass"},
	{Name: "a call with a cycle", Code: "a = {}\na['a'] = a\nawait call_mcp_tool('demo__echo', a)"},
}

var pythonFrames = []Attack{
	{Name: "output that looks like the protocol", Code: "import os\nos.write(1, b'D\\0\\0\\0\\0\\0\\0\\0\\x06\\0\\0\\0\\x02{}')\nos.write(2, b'C\\0\\0\\0\\1\\0\\0\\0\\1x')\nreturn 'contained'", Want: contained},
	{Name: "a forged end, and going on", Code: frames("done(b'1')\nwhile True: pass")},
	{Name: "a forged end of broken JSON", Code: frames("done(b'{')\nwhile True: pass")},
	{Name: "a forged end without an end", Code: frames("send(b'D' + struct.pack('>II', 0, 1000))\nwhile True: pass")},
	{Name: "forged calls for ever", Code: frames("n = 0\nwhile True:\n    n += 1\n    call(n)")},
	{Name: "forged calls that are never answered", Code: frames("n = 0\nwhile True:\n    n += 1\n    call(n, b'demo__slow')")},
	{Name: "forged calls with the same number", Code: frames("while True:\n    call(1)")},
	{Name: "a frame of four gigabytes", Code: frames("send(b'O' + struct.pack('>II', 0, 0xffffffff))\nwhile True: send(b'x' * 65536)")},
	{Name: "frames of no known kind", Code: frames("frame(b'z', 0, b'?')\nwhile True: pass")},
	{Name: "frames that only a host sends", Code: frames("frame(b'H', 0, b'{}')\nframe(b'E', 0, b'{}')\nframe(b'R', 1, b'1')\nwhile True: pass")},
	{Name: "ready once more", Code: frames("frame(b'Y', 0, b'{}')\nwhile True: pass")},
	{Name: "a judgement that nobody asked for", Code: frames("frame(b'S', 0, b'{}')\nwhile True: pass")},
	{Name: "output in frames of one byte for ever", Code: frames("while True: frame(b'O', 0, b'x')")},
	{Name: "calls by names that do not end", Code: frames("for n in range(1000): call(n, b'x' * 10_000_000)")},
	{Name: "the streams are closed", Code: "import os\nos.closerange(0, 256)\nwhile True: pass"},
	{Name: "the answers are taken away", Code: "import os, threading, time\ndef steal(fd):\n    while True:\n        try: os.read(fd, 65536)\n        except OSError: return\nfor fd in range(3, 16): threading.Thread(target=steal, args=(fd,), daemon=True).start()\nawait call_mcp_tool('demo__echo')"},
	{Name: "descriptors for ever", Code: "import os\ntry:\n    for n in range(100_000): os.open('/dev/null', 0)\nexcept OSError:\n    r = 'contained' if n < 4096 else n\nr", Want: contained},
}

var pythonProcess = []Attack{
	{Name: "a fork bomb", Code: "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"},
	{Name: "processes up to the limit", Code: "import os, time\nn = 0\ntry:\n    while n < 10_000:\n        if os.fork() == 0: time.sleep(1000)\n        n += 1\nexcept OSError: pass\nreturn 'contained' if n < 100 else n", Want: contained},
	{Name: "threads for ever", Code: "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n    except RuntimeError: pass"},
	{Name: "a process that goes on after the end", Code: "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True: pass\n    os._exit(0)\nreturn 1"},
	{Name: "a child that keeps the streams", Code: "import os, time\nif os.fork():\n    os._exit(0)\ntime.sleep(1000)"},
	{Name: "a signal to all", Code: "import os\nos.kill(-1, 9)\nwhile True: pass"},
	{Name: "a signal to the first process", Code: "import os\nos.kill(1, 9)\nwhile True: pass"},
	{Name: "it stops itself", Code: "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nimport time\ntime.sleep(1e6)"},
	{Name: "it ends itself", Code: "import os\nos.abort()"},
	{Name: "it becomes another program", Code: "import os\nos.execv('/usr/bin/python3', ['python3', '-c', 'while True: pass'])"},
	{Name: "it runs another program", Code: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'while True: pass'])"},
}

var pythonEscape = []Attack{
	{Name: "writing files", Want: contained, Code: attempts("os", `open('/x', 'w')`, `open('/etc/x', 'w')`, `open('/usr/x', 'w')`, `open('/var/tmp/x', 'w')`, `os.mkdir('/y')`, `os.remove('/etc/passwd')`, `os.chmod('/', 0o777)`, `os.symlink('/etc', '/z')`)},
	{Name: "a file of the host", Want: contained, Code: "bait = await call_mcp_tool('demo__bait')\ntry:\n    r = open(bait['path']).read()\nexcept OSError:\n    r = 'contained'\nr"},
	{Name: "the network of the host", Want: contained, Code: "import socket\nbait = await call_mcp_tool('demo__bait')\ntry:\n    r = str(socket.create_connection(('127.0.0.1', bait['port']), 0.3))\nexcept OSError:\n    r = 'contained'\nr"},
	{Name: "files that are not its own", Want: contained, Code: attempts("os", `open('/etc/shadow').read()`, `os.listdir('/root')`, `os.listdir('/host')`)},
	{Name: "the engine's socket", Want: contained, Code: attempts("os, socket", `os.stat('/var/run/docker.sock')`, `os.stat('/run/podman/podman.sock')`, `os.stat('/run/containerd/containerd.sock')`, `socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')`)},
	{Name: "a network", Want: contained, Code: attempts("socket", `socket.create_connection(('8.8.8.8', 53), 0.3)`, `socket.create_connection(('169.254.169.254', 80), 0.3)`, `socket.create_connection(('172.17.0.1', 22), 0.3)`, `socket.getaddrinfo('example.com', 80)`, `socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))`, `[n for _, n in socket.if_nameindex() if n != 'lo' and open('/sys/class/net/%s/operstate' % n).read().strip() == 'up'][0]`)},
	{Name: "raw sockets", Want: contained, Code: attempts("socket", `socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)`, `socket.socket(socket.AF_PACKET, socket.SOCK_RAW)`, `socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)`)},
	{Name: "rights", Want: contained, Code: attempts("os", `os.setuid(0)`, `os.setgid(0)`, `os.setgroups([0])`, `os.chroot('/tmp')`, `os.nice(-5)`, `os.mknod('/tmp/d', 0o600 | 0o060000, os.makedev(8, 0))`, `os.chown('/tmp', 0, 0) or os.stat('/tmp').st_uid == 0 or 1/0`, `1/0 if os.getuid() else 'root'`)},
	{Name: "capabilities", Want: contained, Code: "s = dict(l.rstrip().split(':\\t', 1) for l in open('/proc/self/status') if ':\\t' in l)\nbad = [k for k in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb') if int(s[k], 16)]\nif s['NoNewPrivs'] != '1': bad.append('NoNewPrivs')\nreturn ', '.join(bad) or 'contained'"},
	{Name: "mounts and namespaces", Want: contained, Code: attempts("ctypes, os", `1/0 if ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None) else 1`, `1/0 if ctypes.CDLL(None).unshare(0x10000000) else 1`, `1/0 if ctypes.CDLL(None).unshare(0x40000000) else 1`, `1/0 if ctypes.CDLL(None).umount2(b'/proc', 2) else 1`)},
	{Name: "the kernel", Want: contained, Code: attempts("os", `open('/dev/mem', 'rb').read(1)`, `open('/dev/kmsg').read(1)`, `open('/proc/kcore', 'rb').read(1)`, `open('/proc/sysrq-trigger', 'w').write('h')`, `open('/proc/sys/kernel/core_pattern', 'w').write('|/x')`, `open('/sys/kernel/uevent_helper', 'w').write('/x')`, `[d for d in os.listdir('/dev') if d.startswith(('sd', 'vd', 'nvme', 'loop', 'dm-'))][0]`)},
	{Name: "control groups", Want: contained, Code: attempts("os", `open('/sys/fs/cgroup/release_agent', 'w').write('/x')`, `open('/sys/fs/cgroup/cgroup.procs', 'w').write('1')`, `open('/sys/fs/cgroup/memory/memory.limit_in_bytes', 'w').write('-1')`, `open('/sys/fs/cgroup/memory.max', 'w').write('max')`, `os.mkdir('/sys/fs/cgroup/x')`)},
	{Name: "running what it has written", Want: contained, Code: "import os, shutil, subprocess, sys\nos.chdir('/tmp')\nshutil.copy(sys.executable, '/tmp/python')\nos.chmod('/tmp/python', 0o755)\ntry:\n    subprocess.run(['/tmp/python', '-c', ''], check=True)\n    r = 'it ran'\nexcept OSError:\n    r = 'contained'\nr"},
	{Name: "other processes", Want: contained, Code: attempts("os", `[p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()][0]`, `os.kill(os.getppid(), 0) if os.getppid() else 1/0`)},
	{Name: "secrets in the environment", Want: contained, Code: "import os, re\nbad = [k for k in os.environ if re.search('TOKEN|SECRET|PASS|API_?KEY|DOCKER|BROKER|SSH', k)]\nreturn ', '.join(bad) or 'contained'"},
	{Name: "something is left behind", Code: "import builtins\nbuiltins.leftover = 1\nopen('/tmp/leftover', 'w').write('x')\nreturn 1"},
	{Name: "replaced built-ins", Code: "import builtins, json, asyncio, struct, os\njson.dumps = json.loads = struct.pack = os.write = None\nbuiltins.len = builtins.open = builtins.print = builtins.Exception = None\nasyncio.run = None\nawait call_mcp_tool('demo__echo', {'a': 1})"},
	{Name: "the runner's own objects", Code: "import gc, sys\nfor o in gc.get_objects():\n    if type(o).__name__ in ('Wire', 'Host', 'Program', 'Printer'):\n        o.__dict__.clear()\nsys.modules.clear()\nraise SystemExit(5)"},
}
