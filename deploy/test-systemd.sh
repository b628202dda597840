#!/bin/sh
# Lives the first day with Orion in a fresh Debian root with its own systemd, as the documents tell it, with the packages
# of a folder: a backend by package, a device by the pasted line for a person and one for the system, calls, an upgrade, a
# removal. Prints what happens with its time, and compares the files at the end with those at the beginning:
#   deploy/test-systemd.sh FOLDER-OF-PACKAGES
# It needs root, debootstrap, systemd-nspawn and minisign. With ARCH=arm64 the root has Debian's kernel for ARM and is the
# disk of a whole machine that qemu emulates, with no network device: qemu for single programs has no seccomp and no Landlock.
# A machine is ended after LIMIT seconds. Its root is set up by programs for ARM, which must run here (binfmt).
set -eu

packages=$1
here=$(dpkg --print-architecture)
arch=${ARCH:-$here}
if [ "$arch" = "$here" ]; then
    emulator='' kernel='' needs=systemd-nspawn
elif [ "$arch" = arm64 ]; then
    emulator=qemu-system-aarch64 kernel=,linux-image-arm64 needs='qemu-system-aarch64 mke2fs'
else
    echo "$arch is not an architecture that this emulates" >&2
    exit 1
fi
for program in debootstrap minisign $needs; do
    command -v "$program" >/dev/null || {
        echo "$program is missing; install it with the system packages" >&2
        exit 1
    }
done
work=$(mktemp -d)
root=$work/root
container=''
finish() {
    if [ -n "$container" ]; then
        kill "$container" 2>/dev/null || true
        wait "$container" 2>/dev/null || true
    fi
    rm -rf -- "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The first files that a kernel reads are made below.
INITRD=No debootstrap --arch="$arch" --variant=minbase \
    --include="systemd,systemd-sysv,dbus,libpam-systemd,curl,ca-certificates$kernel" "${SUITE:-bookworm}" "$root" \
    >"$work/debootstrap" || {
    tail -n 5 "$work/debootstrap" >&2
    exit 1
}
echo backend >"$root/etc/hostname"
echo '127.0.1.1 backend' >>"$root/etc/hosts"
chroot "$root" useradd --create-home --shell /bin/sh ann
cp "$packages"/orion_*.deb "$packages"/orion-server_*.deb "$root/root/"

# The agents: this one, and the same with a newer version of the same length written into it, both signed.
mkdir "$root/root/agents"
dpkg-deb --extract "$packages"/orion-agent_*.deb "$work/agent"
cp "$work/agent/usr/bin/orion-agent" "$root/root/agents/now"
now=$("$root/root/agents/now" --version | cut -d ' ' -f 2)
newer=9${now#?}
sed "s/$(echo "$now" | sed 's/\./\\./g')/$newer/g" "$root/root/agents/now" >"$root/root/agents/newer"
platform=linux-$(chroot "$root" uname -m)
minisign -G -W -f -p "$work/key.pub" -s "$work/key" >/dev/null
minisign -S -s "$work/key" -t "orion-agent $now $platform" -m "$root/root/agents/now" >/dev/null
minisign -S -s "$work/key" -t "orion-agent $newer $platform" -m "$root/root/agents/newer" >/dev/null
tail -n 1 "$work/key.pub" >"$root/root/agents/key"
echo "$newer" >"$root/root/agents/version"

cat >"$root/root/first-day.sh" <<'DAY'
set -eu
export NO_COLOR=1 PAGER=cat
began=$(date +%s)
say() { printf '\n[%3d s] %s\n' "$(($(date +%s) - began))" "$*"; }
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path '/var/log/*' -o -path '/var/cache/*' -o -path '/var/lib/dpkg/*' -o -path '/var/lib/systemd/*' \) -prune -o -print | sort
    cat /etc/passwd /etc/group
}
# Prints a field of the newest invitation.
field() { sed -n "s/^  \"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" /root/invitation.json | sed 's/\\"/"/g; s/\\\\/\\/g'; }
approve() {
    for _ in $(seq 600); do
        if orion devices pending 2>/dev/null | grep -q "$1"; then
            orion devices approve "$1" --yes
            return
        fi
        sleep 0.2
    done
    cat "/root/$1.log"
    return 1
}
as_ann() { su ann -c "export XDG_RUNTIME_DIR=/run/user/$(id -u ann); cd; $*"; }
# Lingering lets the services of a person run while nobody is signed in, as in this test.
loginctl enable-linger ann
for _ in $(seq 600); do [ -d "/run/user/$(id -u ann)" ] && break || sleep 0.2; done
install -d -o ann -g ann /home/ann/files
echo hello >/home/ann/files/a.txt
files >/root/before

say 'The backend, by its package'
dpkg --install /root/orion_*.deb /root/orion-server_*.deb
printf '[people]\nlisten = "0.0.0.0:7080"\ntls = "own"\n[downloads]\npublic_key = "%s"\n' "$(cat /root/agents/key)" >>/etc/orion/orion-server.toml
export ORION_SERVER_CONFIG=/etc/orion/orion-server.toml
systemctl enable --now orion-server
for _ in $(seq 600); do curl -s --cacert /var/lib/orion/people-ca.pem https://backend:7080/ >/dev/null && break || sleep 0.2; done
umask 077
printf 'four words of a test' >/root/password
orion login --backend https://backend:7080 --ca /var/lib/orion/people-ca.pem --secret @/var/lib/orion/first-admin-secret --user admin --password @/root/password
umask 022
orion-server releases add /root/agents/now --signature /root/agents/now.minisig --data-dir /var/lib/orion

say 'A device of ann, by the pasted line'
orion devices invite --name laptop --path /home/ann/files -o json >/root/invitation.json
field install_with_curl >/home/ann/line
start=$(date +%s)
(as_ann 'sh ./line' >/root/laptop.log 2>&1; echo "ended with $?" >>/root/laptop.log) &
approve laptop
wait
cat /root/laptop.log
grep -qx 'ended with 0' /root/laptop.log
echo "the device took $(($(date +%s) - start)) seconds"
orion call laptop read_file path=/home/ann/files/a.txt | grep -x hello
uname -srm
as_ann '~/.local/bin/orion-agent status' | grep '^sandbox'
echo 'processes of the agent by their mode of seccomp (2 has a filter):'
for process in /proc/[0-9]*; do
    case $(readlink "$process/exe") in */orion-agent) grep '^Seccomp:' "$process/status" ;; esac
done | sort | uniq -c
orion call laptop write_file path=/home/ann/files/b.txt content=x
test -f /home/ann/files/b.txt

say 'A restart of the backend, and of the agent'
systemctl restart orion-server
as_ann 'systemctl --user restart orion-agent'
for _ in $(seq 600); do orion devices list | grep -q 'laptop.* yes' && break || sleep 0.2; done
orion call laptop read_file path=/home/ann/files/a.txt | grep -x hello

say 'An upgrade of the agent, with calls under way'
orion-server releases add /root/agents/newer --version "$(cat /root/agents/version)" --signature /root/agents/newer.minisig --data-dir /var/lib/orion
printf '[upgrade]\npublic_key = "%s"\nurl = "https://backend:7080"\n' "$(cat /root/agents/key)" >>/home/ann/.config/orion/agent.toml
: >/root/failed
(
    for number in $(seq 40); do
        orion call laptop write_file "path=/home/ann/files/counted.txt" "content=$number
" append=true --queue >/dev/null 2>>/root/calls.log || echo "call $number" >>/root/failed
    done
) &
sleep 1
as_ann '~/.local/bin/orion-agent upgrade'
wait
as_ann '~/.local/bin/orion-agent --version' | grep -F "$(cat /root/agents/version)"
written=$(wc -l </home/ann/files/counted.txt) failed=$(wc -l </root/failed)
echo "of 40 calls $written wrote their line, and $failed were queued or ended with an error"
grep -v '^✓\|^undo' /root/calls.log | cut -c 1-300 || true
[ "$((written + failed))" -ge 40 ]
[ "$written" -ge 20 ]
[ -z "$(sort /home/ann/files/counted.txt | uniq --repeated)" ]

say 'The removal of the device'
as_ann '~/.local/bin/orion-agent uninstall --purge'
orion devices revoke laptop --yes

say 'A device of the system, by the pasted line'
orion devices invite --name server --path /srv -o json >/root/invitation.json
field install_with_curl | sed 's/sh -s -- /sh -s -- --system /' >/root/line
start=$(date +%s)
(sh /root/line >/root/server.log 2>&1; echo "ended with $?" >>/root/server.log) &
approve server
wait
cat /root/server.log
grep -qx 'ended with 0' /root/server.log
echo "the device took $(($(date +%s) - start)) seconds"
orion call server list_directory path=/srv
systemctl is-active orion-agent
/usr/local/bin/orion-agent uninstall --system --purge

say 'The removal of the backend'
dpkg --purge orion-server orion
rm -f /home/ann/line /home/ann/files/b.txt /home/ann/files/counted.txt
files >/root/after
diff /root/before /root/after
say 'Nothing is left'
DAY

if [ -z "$emulator" ]; then
    systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit --private-network --console=pipe \
        >"$work/console" 2>&1 </dev/null &
    container=$!
    # The container's first process is the child of systemd-nspawn.
    init=''
    for _ in $(seq 100); do
        init=$(pgrep --parent "$container" systemd || true)
        [ -n "$init" ] && nsenter --target "$init" --all --root --wd systemctl is-system-running --wait >/dev/null 2>&1 && break
        sleep 0.2
    done
    [ -n "$init" ] || {
        cat "$work/console" >&2
        exit 1
    }
    nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup --root --wd env -i TERM=dumb HOME=/root \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh /root/first-day.sh
    exit
fi

# A service lives the first day: what it prints and its status leave the machine by a port each, and then it powers off.
cat >"$root/etc/systemd/system/first-day.service" <<'UNIT'
[Unit]
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
Environment=TERM=dumb HOME=/root
ExecStart=/bin/sh -c 'sh /root/first-day.sh; echo $$? >/dev/virtio-ports/status'
StandardOutput=file:/dev/virtio-ports/output
[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl --quiet enable first-day
echo MODULES=list >"$root/etc/initramfs-tools/conf.d/modules"
printf '%s\n' virtio_pci virtio_blk virtio_console ext4 >"$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -c -k all >"$work/initramfs" 2>&1 || {
    cat "$work/initramfs" >&2
    exit 1
}
cp "$root"/boot/vmlinuz-* "$work/kernel"
cp "$root"/boot/initrd.img-* "$work/initrd"
mke2fs -q -t ext4 -d "$root" "$work/disk" 3G >/dev/null

seconds=${LIMIT:-2400}
: >"$work/output"
timeout --kill-after=10 "$seconds" "$emulator" -machine virt -cpu cortex-a76 -smp 2 -m 2G -nic none -display none -monitor none \
    -no-reboot -kernel "$work/kernel" -initrd "$work/initrd" -append 'root=/dev/vda rw console=ttyAMA0 panic=-1' \
    -drive "if=none,id=disk,file=$work/disk,format=raw,cache=unsafe" -device virtio-blk-pci,drive=disk \
    -serial "file:$work/console" -device virtio-serial-pci \
    -chardev "file,id=output,path=$work/output" -device virtserialport,chardev=output,name=output \
    -chardev "file,id=status,path=$work/status" -device virtserialport,chardev=status,name=status </dev/null &
container=$!
tail -n +1 -f --pid="$container" "$work/output"
ended=0
wait "$container" || ended=$?
container=''
[ "$(cat "$work/status" 2>/dev/null)" = 0 ] || {
    tail -n 20 "$work/console" >&2
    [ "$ended" != 124 ] || echo "the machine had not ended after $seconds seconds, and was ended" >&2
    exit 1
}
