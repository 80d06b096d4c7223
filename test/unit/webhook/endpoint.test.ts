import { expect, it } from 'vitest'
import { endpointUrlFault, eventPatternMatches, isEventPattern } from '../../../src/domain/webhook.ts'

it.each([
  'https://example.com/hook?key=1',
  'http://example.com:80/',
  'https://example.com:8443',
  'http://[2606:4700::1111]:1024/',
  'http://10.0.0.1/',
])('%s may be written', (url) => {
  expect(endpointUrlFault(url)).toBeUndefined()
})

it.each([
  ['ftp://example.com/', 'http://'],
  ['file:///etc/passwd', 'http://'],
  ['example.com', 'http://'],
  ['https://', 'http://'],
  ['https://user@example.com/', 'user name'],
  ['https://:secret@example.com/', 'user name'],
  ['https://example.com/#top', 'fragment'],
  ['http://example.com:25/', 'port'],
  ['http://example.com:22/', 'port'],
  [`https://example.com/${'x'.repeat(2_048)}`, 'characters'],
  ['https://example.com/\0', 'http://'],
])('%s may not', (url, fault) => {
  expect(endpointUrlFault(url)).toContain(fault)
})

it('a pattern is a name, or the beginning of some', () => {
  for (const pattern of ['session.error', 'session.*', 'session.retry_*', 'sess*', '*']) {
    expect([pattern, isEventPattern(pattern)]).toEqual([pattern, true])
  }
  for (const pattern of [
    '',
    'session',
    'session.',
    'session.eror',
    '*.error',
    'session.*_held',
    'Session.*',
    'job.*',
    '**',
  ]) {
    expect([pattern, isEventPattern(pattern)]).toEqual([pattern, false])
  }
  expect(eventPatternMatches('session.retry_*', 'session.retry_held')).toBe(true)
  expect(eventPatternMatches('session.retry_*', 'session.error')).toBe(false)
  expect(eventPatternMatches('session.error', 'session.errors')).toBe(false)
})
