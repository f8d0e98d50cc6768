# Functions that install what the scripts need. A bash script sources this file after it has defined $root and say().

# install_packages NAME...: installs Debian packages.
install_packages() {
    command -v apt-get >/dev/null || { say "not a Debian system: please install $*"; exit 69; }
    local become=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { say "these packages are missing, and installing them requires root: $*"; exit 77; }
        become=(sudo)
    fi
    say "installing $*"
    "${become[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends "$@" >/dev/null
}

# find_python CASE ARGUMENT...: sets $python to a Python. If CASE will run, find_python chooses or creates one with the package
# websockets. The cases that will run are those after --cases; without that option, all cases run.
find_python() {
    local case=$1 asked home=$root/.build/stress-python
    shift
    python=python3
    command -v "$python" >/dev/null || { say "no python3 on the PATH (Debian: python3)"; exit 69; }
    case " $* " in *" --help "* | *" -h "*) return ;; esac
    asked=$(printf '%s\n' "$@" | awk 'last == "--cases" { print } sub(/^--cases=/, "") { print } { last = $0 }')
    case ",${asked:-$case}," in *,"$case",*) ;; *) return ;; esac
    if "$python" -c 'import websockets' 2>/dev/null; then return; fi
    # A separate virtual environment, so that nothing is installed into the system.
    if [ ! -x "$home/bin/python3" ] || ! "$home/bin/python3" -c 'import websockets' 2>/dev/null; then
        say "the package websockets is missing: installing it into $home"
        { "$python" -m venv "$home" && "$home/bin/python3" -m pip install -q websockets; } >&2 ||
            say "that failed; install python3-websockets (Debian) for the case $case"
    fi
    if "$home/bin/python3" -c 'import websockets' 2>/dev/null; then python=$home/bin/python3; fi
}
