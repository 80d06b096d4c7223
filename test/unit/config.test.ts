import { expect, test } from 'vitest'
import { CONFIGURATION, ConfigurationError, loadConfig } from '../../src/program/config.ts'

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

test('all faults are told at once, each with its variable', () => {
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

test('variables that nothing reads are named', () => {
  const environment = { REPRISE_UNHEARD: '1', OTHER: '2' }
  expect(loadConfig(environment).warnings).toEqual(['REPRISE_UNHEARD is set, but nothing reads it'])
})

test.each([
  ['REPRISE_PROT', 'REPRISE_PORT'],
  ['REPRISE_DATABSE_URL', 'REPRISE_DATABASE_URL'],
  ['REPRISE_DATABASE_URI', 'REPRISE_DATABASE_URL'],
  ['REPRISE_DATADIR', 'REPRISE_DATA_DIR'],
  ['REPRISE_TOKENS', 'REPRISE_TOKEN'],
  ['REPRISE_LOGLEVEL', 'REPRISE_LOG_LEVEL'],
])('%s is misspelt, and the start says what is meant', (name, meant) => {
  expect(() => loadConfig({ [name]: 'x' })).toThrow(`\n  ${name}: there is no such variable; did you mean ${meant}?`)
})

test('each variable is described once', () => {
  const names = CONFIGURATION.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { meaning } of CONFIGURATION) expect(meaning).toMatch(/\.$/)
})
