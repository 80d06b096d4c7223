import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ClientConfigurationError } from '../../../src/client/errors.ts'
import { readEnvironment } from '../../../src/client/node/environment.ts'
import { findServer } from '../../../src/client/node/find-server.ts'
import { profilesPath, readProfiles, writeProfiles } from '../../../src/client/node/profiles.ts'
import { createEndpoints, type Endpoint, type Endpoints } from '../../../src/client/transport/endpoints.ts'

describe('finding the server', () => {
  let home: string
  let environment: Record<string, string>

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'reprise-client-'))
    environment = { XDG_CONFIG_HOME: join(home, 'config'), REPRISE_DATA_DIR: join(home, 'data') }
    mkdirSync(environment['REPRISE_DATA_DIR']!)
    writeFileSync(join(home, 'data/admin-token'), 'rpr_local\n')
  })

  afterEach(() => rmSync(home, { recursive: true }))

  function keep() {
    const lab = { urls: ['https://one.lab', 'https://two.lab'], token: 'rpr_lab' }
    const site = { urls: ['https://site/reprise'], token: 'rpr_site' }
    writeProfiles(profilesPath(environment), { current: 'lab', profiles: { lab, site } })
  }

  function find(stated: Parameters<typeof findServer>[0] = {}, more: Record<string, string> = {}) {
    const variables = { ...environment, ...more }
    const found = findServer(
      stated,
      readEnvironment(variables, () => {}),
      () => readProfiles(profilesPath(variables)),
    )
    return [found.source, found.urls.map(({ href }) => href).join(' '), found.token]
  }

  test('a server of this machine with the token of its data directory', () => {
    expect(find()).toEqual(['local', 'http://127.0.0.1:4000/', 'rpr_local'])
  })

  test('at the address in its data directory, with the token there, until something is stated', () => {
    const kept = join(home, 'data/server-url')
    writeFileSync(kept, 'http://127.0.0.1:4711\n')
    expect(find()).toEqual(['directory', 'http://127.0.0.1:4711/', 'rpr_local'])
    expect(find({}, { REPRISE_URL: 'http://a' })).toEqual(['environment', 'http://a/', undefined])
    expect(find({ token: 'rpr_stated' })).toEqual(['directory', 'http://127.0.0.1:4711/', 'rpr_stated'])
    // Reached by a name that is not of the loopback interface, it is still the server of this directory.
    writeFileSync(kept, 'https://node-7.lab:4711\n')
    expect(find()).toEqual(['directory', 'https://node-7.lab:4711/', 'rpr_local'])
    for (const broken of ['', '\n', 'http']) {
      writeFileSync(kept, broken)
      expect(find()).toEqual(['local', 'http://127.0.0.1:4000/', 'rpr_local'])
    }
  })

  test('the profile before that: the current one, or the one that is named', () => {
    keep()
    expect(find()).toEqual(['profile', 'https://one.lab/ https://two.lab/', 'rpr_lab'])
    const site = ['profile', 'https://site/reprise/', 'rpr_site']
    expect(find({}, { REPRISE_PROFILE: 'site' })).toEqual(site)
    expect(find({ profile: 'site' }, { REPRISE_URL: 'http://other', REPRISE_TOKEN: 'rpr_other' })).toEqual(site)
    expect(() => find({ profile: 'nowhere' })).toThrow(ClientConfigurationError)
  })

  test('the environment precedes the profile, and an option precedes both', () => {
    keep()
    const variables = { REPRISE_URL: 'http://a, http://b', REPRISE_TOKEN: 'rpr_env' }
    expect(find({}, variables)).toEqual(['environment', 'http://a/ http://b/', 'rpr_env'])
    expect(find({ urls: ['http://c'] }, variables)).toEqual(['options', 'http://c/', 'rpr_env'])
    expect(find({ urls: ['http://c'], token: 'rpr_stated' }, variables)).toEqual(['options', 'http://c/', 'rpr_stated'])
  })

  test('a token that was kept for one server is not shown to another', () => {
    keep()
    expect(find({ urls: ['https://evil'] })).toEqual(['options', 'https://evil/', undefined])
    expect(find({ urls: ['https://two.lab'] })).toEqual(['options', 'https://two.lab/', 'rpr_lab'])
    expect(find({ urls: ['https://two.lab', 'https://evil'] })[2]).toBeUndefined()
    expect(find({ urls: ['http://localhost:1'] })[2]).toBe('rpr_local')
  })

  test.each(['ftp://x', 'localhost:4000', ''])('%j is no URL of a server', (url) => {
    expect(() => find({ urls: [url] })).toThrow(ClientConfigurationError)
  })

  describe('the file of profiles', () => {
    test('is readable by its owner alone, and refused where it is not', () => {
      keep()
      const path = profilesPath(environment)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
      chmodSync(path, 0o640)
      expect(() => find()).toThrow(`chmod 600 ${path}`)
      expect(find({ urls: ['http://c'], token: 'rpr_stated' })[2]).toBe('rpr_stated')
    })

    test('keeps its earlier content', () => {
      keep()
      const path = profilesPath(environment)
      const read = readProfiles(path)
      writeProfiles(path, { ...read, current: 'site' })
      expect(readProfiles(path)).toEqual({ ...read, current: 'site' })
      expect(readFileSync(path, 'utf8').endsWith('}\n')).toBe(true)
    })

    test.each(['{', '[1]{', '{"profiles": {"a": {"url": "x"}}}'])('%s is refused', (text) => {
      const path = profilesPath(environment)
      mkdirSync(join(path, '..'), { recursive: true })
      writeFileSync(path, text, { mode: 0o600 })
      expect(() => find()).toThrow('not a valid profiles file')
    })
  })
})

describe('endpoints', () => {
  let now: number
  let endpoints: Endpoints
  const names = (endpoint: Endpoint | null) => endpoint?.url.hostname ?? null

  beforeEach(() => {
    now = 1_000_000
    endpoints = createEndpoints([new URL('http://a/'), new URL('http://b/'), new URL('http://c/')], () => now)
  })

  test('the first is asked as long as it answers', () => {
    const first = endpoints.choose()!
    endpoints.answered(first)
    expect(names(endpoints.choose())).toBe('a')
  })

  test('one that fails is left alone for 1 s, 2 s, 4 s, … up to 60 s, and an answer forgives it', () => {
    const first = endpoints.choose()!
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      endpoints.failed(first)
      now += seconds * 1000 - 1
      expect(names(endpoints.choose())).toBe('b')
      now += 1
      expect(names(endpoints.choose())).toBe('a')
    }
    endpoints.answered(first)
    endpoints.failed(first)
    now += 1000
    expect(names(endpoints.choose())).toBe('a')
  })

  test('one that names a time is left alone for that', () => {
    endpoints.failed(endpoints.choose()!, 30)
    now += 29_999
    expect(names(endpoints.choose())).toBe('b')
  })

  test('each is asked once; where all rest, the one whose rest ends first is, and nobody else', () => {
    const asked = new Set<Endpoint>()
    for (const name of ['a', 'b', 'c']) {
      const next = endpoints.choose(asked)!
      expect(names(next)).toBe(name)
      endpoints.failed(next)
      asked.add(next)
      now += 1
    }
    expect(endpoints.choose(asked)).toBeNull()
    expect(endpoints.anyRested()).toBe(false)
    const soonest = endpoints.choose()!
    expect(names(soonest)).toBe('a')
    expect(endpoints.choose(new Set([soonest]))).toBeNull()
  })
})
