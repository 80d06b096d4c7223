import { expect, it } from 'vitest'
import { createAddressGuard } from '../../../src/machine/address-guard.ts'

const mayConnect = createAddressGuard([])

it.each(['1.1.1.1', '8.8.8.8', '172.15.255.255', '172.32.0.1', '100.63.255.255', '192.0.1.1', '223.255.255.255'])(
  '%s is public',
  (address) => expect(mayConnect(address)).toBe(true),
)
it.each(['2606:4700:4700::1111', '2a00:1450:4001::200e', '2001:4860:4860::8888'])('%s is public', (address) =>
  expect(mayConnect(address)).toBe(true),
)

it.each([
  ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
  ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd00:ec2::254']],
  ['link-local', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'fec0::1']],
  ['shared by carriers', ['100.64.0.1', '100.100.100.200', '100.127.255.255']],
  ['protocol assignments', ['192.0.0.192', '2001::1', '2001:1::1']],
  ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
  ['reserved and broadcast', ['240.0.0.1', '255.255.255.255', '198.18.0.1', '198.19.255.255']],
  ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
  ['of a cloud', ['168.63.129.16']],
  ['IPv4 in IPv6: mapped', ['::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8']],
  ['IPv4 in IPv6: compatible, translated', ['::127.0.0.1', '::ffff:0:127.0.0.1']],
  ['IPv4 in IPv6: NAT64', ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::a9fe:a9fe']],
  ['IPv4 in IPv6: 6to4, Teredo', ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2001:0:a9fe:a9fe::']],
  ['discard, segments', ['100::1', '5f00::1']],
  ['no address at all', ['', 'localhost', '127.1', '0x7f000001', '[::1]']],
])('%s is refused', (_kind, addresses) => {
  expect(addresses.filter(mayConnect)).toEqual([])
})

it('allowed networks are exceptions, and nothing around them', () => {
  const guard = createAddressGuard(['10.1.0.0/16', 'fd00::/8', '64:ff9b::/96'])
  expect(
    ['10.1.2.3', 'fd12::1', '64:ff9b::808:808', '::ffff:10.1.2.3', '1.1.1.1'].filter((address) => !guard(address)),
  ).toEqual([])
  expect(['10.2.0.1', 'fc00::1', '127.0.0.1', '::ffff:10.2.0.1'].filter(guard)).toEqual([])
})
