import { describe, expect, test } from 'vitest'
import { allowsAnyRegistry, registryRefusal } from '../../../src/agent/executors/container/engine/registry.ts'

/** Which registries the engine of an agent may be sent to for a tenant. */

const NAMES: Readonly<Record<string, string[]>> = {
  'registry.example': ['1.1.1.1', '2606:4700:4700::1111'],
  'metadata.example': ['169.254.169.254'],
  'half.example': ['1.1.1.1', '10.0.0.7'],
  'six.example': ['fd00:ec2::254'],
  metadata: ['169.254.169.254'],
}

const asked: string[] = []

async function resolve(host: string): Promise<string[]> {
  asked.push(host)
  const found = NAMES[host]
  if (found === undefined) throw new Error(`nobody knows ${host}`)
  return found
}

async function classOf(image: string, allow: readonly string[] = ['*']): Promise<string | null> {
  return (await registryRefusal(image, allow, resolve))?.failure.name ?? null
}

const REFUSED = 'validation-failed'

test.each([
  ['loopback', ['127.0.0.1/x', '127.0.0.1:5000/x/y:1', '127.8.9.1:80/x', '[::1]/x', '[::1]:5000/x', '0.0.0.0:1/x']],
  ['names of this machine', ['localhost/x', 'LOCALHOST/x', 'localhost:5000/x', 'a.localhost:1/x', 'localhost.:1/x']],
  ['private', ['10.0.0.1/x', '172.16.0.1:5000/x', '192.168.1.1/x', '[fc00::1]/x', '[fd00:ec2::254]:80/x']],
  ['link-local', ['169.254.169.254/x', '169.254.169.254:80/latest/meta-data', '[fe80::1]/x']],
  ['IPv4 in IPv6', ['[::ffff:127.0.0.1]:1/x', '[::ffff:a9fe:a9fe]/x', '[64:ff9b::7f00:1]/x', '[2002:7f00:1::]/x']],
  [
    'decimal, octal, hexadecimal, short',
    ['2130706433:80/x', '0177.0.0.1/x', '0x7f.0.0.1/x', '0x7f000001:1/x', '127.1/x'],
  ],
  ['names that resolve to such', ['metadata.example/x', 'half.example:5000/x', 'six.example/x', 'Metadata/x']],
])('%s: refused, unless its host is written out', async (_, images) => {
  for (const image of images) {
    expect(await classOf(image), image).toBe(REFUSED)
    const [registry = ''] = image.split('/')
    expect(await classOf(image, ['*', `${registry}/*`]), image).toBeNull()
    expect(await classOf(image, [`${registry}/of-others/*`, '*']), image).toBe(REFUSED)
  }
})

test.each(['*', '127.*', '127.0.0.1*', '*:5000/*', '*.0.0.1:5000/*', '127.0.0.1:5001/*', '127.0.0.1/*', '1*/*'])(
  'the pattern %s writes out no 127.0.0.1:5000',
  async (pattern) => expect(await classOf('127.0.0.1:5000/x', [pattern])).toBe(REFUSED),
)

test('any port of a host, or one image alone, may be written out', async () => {
  expect(await classOf('127.0.0.1:5000/x', ['127.0.0.1:*/*'])).toBeNull()
  expect(await classOf('10.1.2.3/team/tool:1', ['10.1.2.3/team/tool:1'])).toBeNull()
  expect(await classOf('10.1.2.3/team/tool:2', ['10.1.2.3/team/tool:1'])).toBe(REFUSED)
  expect(await classOf('[fd00::1]:5000/x', ['[fd00::1]:5000/*'])).toBeNull()
})

test('public registries, and names without one, may be asked; only names are looked up', async () => {
  asked.length = 0
  for (const image of [
    'python:3.12',
    'library/python',
    'docker.io/library/python',
    'registry.example:5000/a/b@sha256:0',
  ])
    expect(await classOf(image), image).toBeNull()
  expect(await classOf('1.1.1.1:5000/x')).toBeNull()
  expect(asked).toEqual(['registry.example'])
})

test('what nobody can look up is unreachable, and not left to the engine', async () => {
  expect(await classOf('unknown.example/x')).toBe('image-unreachable')
  expect(await classOf('unknown.example/x', ['unknown.example/*'])).toBeNull()
})

test.each([
  'docker-archive:/etc/shadow',
  'docker-archive:secrets',
  'dir:/var/lib',
  'oci:/x',
  'docker://127.0.0.1:5000/x',
  'http://127.0.0.1/x',
  '[fe80::1%25eth0]/x',
  '127.0.0.1:99999/x',
  'a:b:c/x',
  'user@127.0.0.1:80/x',
  '127.0.0.1%2f:80/x',
])('%s is no image of a registry', async (image) => {
  expect(await classOf(image)).not.toBeNull()
  expect(await classOf(image)).not.toBe('image-unreachable')
})

describe('whether any registry is allowed', () => {
  test.each([['*'], ['python*'], ['python:*'], ['*.example.com/*'], ['registry.example.com*'], ['a/b', '*']])(
    '%s',
    (...allow) => expect(allowsAnyRegistry(allow)).toBe(true),
  )
  test.each([['registry.example.com/*'], ['10.0.0.1:*/*'], ['python:3.12', 'library/*'], []])('not by %s', (...allow) =>
    expect(allowsAnyRegistry(allow)).toBe(false),
  )
})
