import { BlockList, isIP } from 'node:net'

/**
 * The addresses to which connections on behalf of a tenant are allowed. IPv4: all except those in the registry of
 * special-purpose addresses (RFC 6890 and its updates). IPv6: only global unicast, except the special ranges in it;
 * this also excludes embedded IPv4 addresses (mapped, compatible, translated, NAT64, 6to4, Teredo) without decoding
 * them.
 */
const SPECIAL_IPV4: readonly [network: string, prefix: number][] = [
  ['0.0.0.0', 8], // this network, and unspecified
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers, and metadata of some clouds
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // Azure's host, reachable only from its machines
  ['169.254.0.0', 16], // link-local, and metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments, and metadata of some clouds
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
]
const GLOBAL_IPV6: readonly [network: string, prefix: number] = ['2000::', 3]
const SPECIAL_IPV6: readonly [network: string, prefix: number][] = [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['3fff::', 20], // documentation
]

export type MayConnect = (address: string) => boolean

/** @param allowed networks in CIDR notation that are allowed even if they are special */
export function createAddressGuard(allowed: readonly string[]): MayConnect {
  const exceptions = new BlockList()
  for (const network of allowed) addNetwork(exceptions, network)
  const special = new BlockList()
  for (const [network, prefix] of SPECIAL_IPV4) special.addSubnet(network, prefix, 'ipv4')
  for (const [network, prefix] of SPECIAL_IPV6) special.addSubnet(network, prefix, 'ipv6')
  const global = new BlockList()
  global.addSubnet(...GLOBAL_IPV6, 'ipv6')

  return (address) => {
    const version = isIP(address)
    if (version === 0) return false
    if (version === 4) return exceptions.check(address, 'ipv4') || !special.check(address, 'ipv4')
    if (exceptions.check(address, 'ipv6')) return true
    return global.check(address, 'ipv6') && !special.check(address, 'ipv6')
  }
}

function addNetwork(list: BlockList, network: string): void {
  const [address, prefix] = network.split('/') as [string, string]
  list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
