# The first process of a cluster's namespaces: `sh -c` with the state folder, the node's address, the range of
# Services and the port of the registry. It prepares mounts and network, then reaps orphans until it is killed.
set -eu
state=$1 node=$2 services=$3 registry=$4

# Shared among the mounts of this namespace; none of them is visible outside.
mount --make-rshared /
# Sockets of containerd and its shims, and the namespaces of pods, whose paths cannot be configured.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/netns /run/lock
# The kubelet and CNI plugins write below /var/lib whatever their settings are. The overlay has places for their
# mounts that the host does not have; containers' own overlays must not lie on it, hence the bind mounts.
mount -t overlay -o "lowerdir=/var/lib,upperdir=$state/varlib/upper,workdir=$state/varlib/work" overlay /var/lib
mkdir -p /var/lib/kubelet /var/lib/cni
mount --bind "$state/kubelet" /var/lib/kubelet
mount --bind "$state/cni" /var/lib/cni
mount --bind "$state/varlog" /var/log
mount --bind "$state/resolv.conf" /etc/resolv.conf

ip link set lo up
# The node's address is on a bridge without ports: not every kernel has dummy devices.
ip link add node0 type bridge
ip address add "$node/32" dev node0
ip link set node0 up
# Without a route, connections to Services fail before kube-proxy's rules see them.
ip route add "$services" dev node0 src "$node"
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet
# Services between pods of one bridge.
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
# The registry listens on loopback only.
for chain in PREROUTING OUTPUT; do
  iptables --table nat --append "$chain" --destination "$node" --protocol tcp --dport "$registry" \
    --jump DNAT --to-destination "127.0.0.1:$registry"
done
touch "$state/ready"
while :; do
  sleep 1000 &
  wait $! || :
done
