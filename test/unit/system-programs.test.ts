import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  kernelPath,
  systemPath,
  systemProgram,
  unsafeAbove,
  unsafeInPackage,
  unsafePath,
} from '../../src/machine/system-programs.ts'

const isRoot = process.getuid?.() === 0
const root = realpathSync(mkdtempSync(join(tmpdir(), 'reprise-programs-')))
let here: string
let made = 0

beforeEach(() => {
  here = join(root, String(made++))
  mkdirSync(here)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A directory with a program in it. */
function directory(name: string, options: { mode?: number; owner?: number; program?: string } = {}): string {
  const { mode = 0o755, owner, program = 'tool' } = options
  const path = join(here, name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, program), '#!/bin/sh\n', { mode: 0o755 })
  if (owner !== undefined) chownSync(path, owner, owner)
  chmodSync(path, mode)
  return path
}

describe('the PATH of the system', () => {
  test('has directories that only this user can write, in the order given', () => {
    const own = directory('own')
    const usual = realpathSync('/usr/bin')
    expect(systemPath(`${own}:/usr/bin`)).toBe(`${own}:${usual}`)
    expect(systemPath(`/usr/bin:${own}`)).toBe(`${usual}:${own}`)
    expect(systemProgram('tool', systemPath(own))).toBe(join(own, 'tool'))
  })

  test.each<[string, () => string]>([
    ['one that everybody can write', () => directory('open', { mode: 0o777 })],
    ['one like /tmp, in which everybody can make files', () => directory('sticky', { mode: 0o1777 })],
    ['one below such a one', () => (directory('open', { mode: 0o777 }), directory('open/below'))],
    ['packages’ programs', () => directory('node_modules/.bin')],
    ['a relative one', () => (directory('bin'), 'bin')],
    ['one that is not there', () => join(here, 'nowhere')],
  ])('has not %s', (_, make) => {
    expect(systemPath(make())).toBe(systemPath(''))
  })

  test('is that of most distributions where nothing else is left', () => {
    expect(systemPath('').split(':')).toContain(realpathSync('/usr/bin'))
  })

  test('has one below a sticky directory, in which nobody can replace it', () => {
    const below = directory('sticky/below')
    chmodSync(join(here, 'sticky'), 0o1777)
    expect(systemPath(below).split(':')).toContain(below)
  })

  test.skipIf(!isRoot)('has not one of another user', () => {
    expect(systemPath(directory('theirs', { owner: 12_345 }))).toBe(systemPath(''))
  })

  test('names a directory by what its link leads to at the start', () => {
    const own = directory('own')
    symlinkSync(own, join(here, 'link'))
    expect(systemPath(join(here, 'link')).split(':')[0]).toBe(own)
  })
})

describe('a program of the system', () => {
  test('is not one that everybody can write, or that cannot be run', () => {
    const own = directory('own', { program: 'open' })
    chmodSync(join(own, 'open'), 0o777)
    writeFileSync(join(own, 'text'), '', { mode: 0o644 })
    for (const name of ['open', 'text']) expect(systemProgram(name, own)).toBe(join('/nonexistent', name))
  })

  test('is not one that a link leads to in a directory of somebody else', () => {
    const open = directory('open', { mode: 0o777 })
    const own = directory('own')
    symlinkSync(join(open, 'tool'), join(own, 'linked'))
    expect(systemProgram('linked', own)).toBe('/nonexistent/linked')
  })
})

test('the PATH of kernels has no packages’ programs, and Node last', () => {
  expect(kernelPath('/a/node_modules/.bin:/opt/bin:bin:/usr/bin', '/b/node_modules/node/bin')).toBe(
    '/opt/bin:/usr/bin:/b/node_modules/node/bin',
  )
})

describe('what another user can write', () => {
  test('is found above a path, and said as it is', () => {
    const open = directory('open', { mode: 0o757 })
    directory('open/below')
    expect(unsafePath(join(open, 'below/tool'))).toEqual({
      path: open,
      what: expect.stringMatching(/^directory of user \d+ and group \d+ with mode 0757$/),
    })
    expect(unsafeAbove(join(open, 'below/not/there'))).toMatchObject([{ path: open }])
    expect(unsafePath(directory('own'))).toBeNull()
  })

  test('is not a place in a sticky directory that is made now', () => {
    const sticky = directory('sticky', { mode: 0o1777 })
    expect(unsafeAbove(join(sticky, 'new/deeper'))).toEqual([])
    expect(unsafeAbove(sticky)).toMatchObject([{ path: sticky }])
  })

  test('is found in a package, two levels deep, but not through links', () => {
    const pack = directory('package')
    directory('package/src')
    directory('open', { mode: 0o777 })
    symlinkSync(join(here, 'open'), join(pack, 'linked'))
    expect(unsafeInPackage(pack)).toEqual([])
    chmodSync(join(pack, 'src/tool'), 0o666)
    expect(unsafeInPackage(pack)).toMatchObject([{ path: join(pack, 'src/tool') }])
  })
})
