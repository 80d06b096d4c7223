import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { isBounded, parseRetention } from '../../src/domain/retention.ts'
import {
  kernelPath,
  systemPath,
  systemProgram,
  unsafeAbove,
  unsafeInPackage,
  unsafePath,
} from '../../src/machine/system-programs.ts'
import { CLIENT_VARIABLES } from '../../src/client/node/environment.ts'
import { KERNEL_VARIABLES } from '../../src/domain/session/kernel-environment.ts'
import { CONFIGURATION, ConfigurationError, loadConfig, warnOfUnknownVariables } from '../../src/program/config.ts'
import { createSecretBox, SECRET_KEY_BYTES, SecretKeyError } from '../../src/services/access/secrets.ts'
import { checkProperty } from '../support/seeds.ts'

describe('configuration', () => {
  test('an empty environment gives the defaults', () => {
    const { config, warnings } = loadConfig({})
    expect(config).toMatchObject({
      databaseUrl: undefined,
      databaseConnections: 16,
      dataDir: '.reprise',
      host: '127.0.0.1',
      port: 4000,
      roles: ['api', 'scheduler', 'agent'],
      slots: undefined,
      executor: 'process',
    })
    expect(warnings).toEqual([])
  })

  test('0 is a value, and empty text is none', () => {
    expect(loadConfig({ REPRISE_PORT: '0' }).config.port).toBe(0)
    expect(loadConfig({ REPRISE_PORT: ' ', REPRISE_DATABASE_URL: '' }).config).toMatchObject({
      port: 4000,
      databaseUrl: undefined,
    })
  })

  test('slots are exact amounts, bytes for memory', () => {
    const { config } = loadConfig({ REPRISE_SLOTS: 'cpu=1.5, mem=8g,cuda.device=2' })
    expect(config.slots).toEqual({ cpu: '1.5', mem: '8589934592', 'cuda.device': '2' })
  })

  test('the bound of a chain’s directory is an amount of bytes, or none', () => {
    const bound = (text: string) => loadConfig({ REPRISE_CHAIN_BYTES_MAX: text }).config.chainBytesMax
    expect([bound(''), bound('1.5k'), bound('none')]).toEqual([64 * 1024 ** 3, 1536, null])
    for (const text of ['0', '-1', 'all', '1e400']) expect(() => bound(text)).toThrow('REPRISE_CHAIN_BYTES_MAX')
  })

  test('the bound of its files is a number of them, or none', () => {
    const bound = (text: string) => loadConfig({ REPRISE_CHAIN_FILES_MAX: text }).config.chainFilesMax
    expect([bound(''), bound('500'), bound('none')]).toEqual([1_000_000, 500, null])
    for (const text of ['0', '-1', 'all', '1e3']) expect(() => bound(text)).toThrow('REPRISE_CHAIN_FILES_MAX')
  })

  test('all faults are reported at once, each with its variable', () => {
    const environment = {
      REPRISE_PORT: '65536',
      REPRISE_DATABASE_CONNECTIONS: '1e3',
      REPRISE_ROLES: 'api,cook',
      REPRISE_DATABASE_URL: 'mysql://x',
      REPRISE_SLOTS: 'cpu=-1',
      REPRISE_LOG_LEVEL: 'loud',
    }
    const attempt = () => loadConfig(environment)
    expect(attempt).toThrow(ConfigurationError)
    for (const name of Object.keys(environment)) expect(attempt).toThrow(`\n  ${name}: `)
  })

  test.each([
    ['REPRISE_AGENT_SLOTS', 'did you mean REPRISE_SLOTS?'],
    ['REPRISE_MAX_UPLOAD_BYTES', 'did you mean REPRISE_UPLOAD_BYTES_MAX?'],
    ['REPRISE_DATABASE', 'did you mean REPRISE_DATABASE_URL?'],
    ['REPRISE_SERVER', 'did you mean REPRISE_SERVER_URL?'],
    ['REPRISE_UNHEARD', 'docs/configuration.md has all names'],
  ])('%s is set: nothing reads it, and the warning has the nearest name', (name, advice) => {
    const environment = { [name]: '1', OTHER: '2' }
    const warnings = [`${name} is set, but nothing reads it: ${advice}`]
    expect(loadConfig(environment).warnings).toEqual(warnings)
    expect(warnOfUnknownVariables(environment)).toEqual(warnings)
  })

  test('variables of clients and of kernels cause no warning', () => {
    const names = [...CLIENT_VARIABLES.map(({ name }) => name), ...Object.keys(KERNEL_VARIABLES)]
    expect(names.length).toBeGreaterThan(20)
    expect(warnOfUnknownVariables(Object.fromEntries(names.map((name) => [name, '1'])))).toEqual([])
  })

  test.each([
    ['REPRISE_PROT', 'REPRISE_PORT'],
    ['REPRISE_DATABSE_URL', 'REPRISE_DATABASE_URL'],
    ['REPRISE_DATABASE_URI', 'REPRISE_DATABASE_URL'],
    ['REPRISE_DATADIR', 'REPRISE_DATA_DIR'],
    ['REPRISE_TOKENS', 'REPRISE_TOKEN'],
    ['REPRISE_LOGLEVEL', 'REPRISE_LOG_LEVEL'],
  ])('%s is misspelt, and the start suggests the right name', (name, meant) => {
    expect(() => loadConfig({ [name]: 'x' })).toThrow(`\n  ${name}: there is no such variable; did you mean ${meant}?`)
  })

  test('each variable is described once', () => {
    const names = CONFIGURATION.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { meaning } of CONFIGURATION) expect(meaning).toMatch(/\.$/)
  })
})

describe('programs of the system', () => {
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

    test('names a directory by the target of its link at the start', () => {
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

    test('is not the target of a link into a directory of another user', () => {
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

  describe('a path that another user can write', () => {
    test('is found above a path, and reported unchanged', () => {
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
})

describe('secrets', () => {
  const [old, young] = [Buffer.alloc(SECRET_KEY_BYTES, 1), Buffer.alloc(SECRET_KEY_BYTES, 2)]
  const box = createSecretBox([old])

  describe('a sealed value', () => {
    test('decrypts to the same text, and never looks the same', () => {
      checkProperty(
        fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (value, about) => {
          const [first, second] = [box.seal(value, about), box.seal(value, about)]
          expect(box.open(first, about)).toEqual(Buffer.from(value))
          expect(first.equals(second)).toBe(false)
          expect(first.includes(Buffer.from(value))).toBe(value.length < 4 && first.includes(Buffer.from(value)))
        }),
      )
    })

    test('does not open elsewhere, nor after any change', () => {
      const sealed = box.seal(Buffer.from('value'), 'environ A')
      expect(() => box.open(sealed, 'environ B')).toThrow(SecretKeyError)
      for (let at = 0; at < sealed.length; at++) {
        const bent = Buffer.from(sealed)
        bent[at]! ^= 1
        expect(() => box.open(bent, 'environ A')).toThrow(SecretKeyError)
      }
      for (let length = 0; length < sealed.length; length++) {
        expect(() => box.open(sealed.subarray(0, length), 'environ A')).toThrow(SecretKeyError)
      }
    })

    test('names the key that it needs where there is only another', () => {
      const sealed = box.seal(Buffer.from('value'), 'x')
      const other = createSecretBox([young])
      expect(() => other.open(sealed, 'x')).toThrow(
        `the key ${box.keyId}, and the file of this server has ${other.keyId}`,
      )
    })

    test('opens with the key before, once that is replaced', () => {
      const sealed = box.seal(Buffer.from('value'), 'x')
      const replaced = createSecretBox([young, old])
      expect(replaced.open(sealed, 'x').toString()).toBe('value')
      expect(() => box.open(replaced.seal(Buffer.from('value'), 'x'), 'x')).toThrow(SecretKeyError)
      expect([replaced.knows(box.keyId), box.knows(replaced.keyId)]).toEqual([true, false])
    })
  })

  test('digests differ by value, key and subject', () => {
    const digest = (value: string, about = 'a', by = box) => by.digest(Buffer.from(value), about).toString('hex')
    expect(digest('x')).toBe(digest('x'))
    expect(new Set([digest('x'), digest('y'), digest('x', 'b'), digest('x', 'a', createSecretBox([young]))]).size).toBe(
      4,
    )
  })
})

describe('retention periods', () => {
  test.each([
    ['forever', null, null],
    ['12h', 43_200, null],
    ['90d', 7_776_000, null],
    ['2w', 1_209_600, null],
    ['1y', 31_536_000, null],
    ['100000', null, 100_000],
    ['0', null, 0],
    ['90d,1000', 7_776_000, 1_000],
    ['1000, 90d', 7_776_000, 1_000],
  ])('%s', (text, ageSeconds, count) => {
    expect(parseRetention(text)).toEqual({ ageSeconds, count })
  })

  test.each(['', '0d', '90', '90 d', '90m', '-1', '1.5d', '90d,30d', '10,20', 'forever,10', '90d,', '1e9', '999999y'])(
    '%s',
    (text) => {
      const parsed = parseRetention(text)
      expect(text === '90' ? parsed : (parsed ?? 'refused')).toEqual(
        text === '90' ? { ageSeconds: null, count: 90 } : 'refused',
      )
    },
  )

  test('forever bounds nothing, 0 does', () => {
    expect(isBounded(parseRetention('forever')!)).toBe(false)
    expect(isBounded(parseRetention('0')!)).toBe(true)
  })
})
