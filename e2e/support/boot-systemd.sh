# usage: unshare --mount --net --uts --ipc sh boot-systemd.sh FOLDER CGROUP FILES
# Boots systemd as PID 1 of a machine that sees a copy of the files in FILES, its own network and its own control groups.
# FOLDER is an empty folder to work in, CGROUP the name of the control group that holds everything.
set -eu
folder=$1
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
cd "$folder"
mkdir upper work root groups
mount -t overlay overlay -o "lowerdir=$3,upperdir=$folder/upper,workdir=$folder/work" root
mount -t cgroup2 cgroup2 groups
mkdir "groups/$2"
echo $$ >"groups/$2/cgroup.procs"
umount groups
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare --cgroup --pid --fork --kill-child sh -euc '
	cd root
	mount -t proc proc proc
	mount --rbind /dev dev
	mount -t sysfs sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount -t tmpfs tmpfs run
	mount -t tmpfs tmpfs tmp
	# None of the services of this machine, only the journal.
	rm -rf etc/systemd/system/*
	printf "[Unit]\nDefaultDependencies=no\nWants=systemd-journald.service\n" >etc/systemd/system/machine.target
	ip link set lo up
	mkdir -p mnt/old
	pivot_root . mnt/old
	umount -l mnt/old
	cd /
	exec env -i container=test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --unit=machine.target --log-target=journal --show-status=no
'
