import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseProgramVerdict, readProgramVerdict } from '../../../src/domain/session/program-verdict.ts'
import { checkProperty } from '../../support/seeds.ts'

const NOTHING = { reason: null, retry: null, delaySeconds: null, fault: null }

it.each([
  ['{}', {}],
  ['{"reason": "  disk is full\\n"}', { reason: 'disk is full' }],
  ['{"reason": "", "retry": null}', {}],
  ['{"retry": "no"}', { retry: 'no' }],
  ['{"retry": "yes", "delaySeconds": 0}', { retry: 'yes', delaySeconds: 0 }],
  ['{"retry": "uncounted", "delaySeconds": 30.5}', { retry: 'uncounted', delaySeconds: 30.5 }],
  ['{"delaySeconds": 1e300}', { delaySeconds: 86_400 }],
  ['{"reason": "a\\u0000b\\ud800"}', { reason: 'a\ufffdb\ufffd' }],
  ['', { fault: 'it is not JSON' }],
  ['null', { fault: 'it is not a JSON object' }],
  ['[]', { fault: 'it is not a JSON object' }],
  ['{"retry": true}', { fault: '"retry" is not one of "no", "yes", "uncounted"' }],
  ['{"retry": "NO"}', { fault: '"retry" is not one of "no", "yes", "uncounted"' }],
  ['{"reason": {"deep": 1}}', { fault: '"reason" is not text' }],
  ['{"delaySeconds": -1}', { fault: '"delaySeconds" is not a number of at least 0' }],
  ['{"delaySeconds": "30"}', { fault: '"delaySeconds" is not a number of at least 0' }],
  ['{"maxRetries": 100}', { fault: 'it has an unknown field "maxRetries"' }],
  [`${'['.repeat(8_000)}${']'.repeat(8_000)}`, { fault: 'it is not a JSON object' }],
])('%s', (text, expected) => {
  expect(parseProgramVerdict(text)).toEqual({ ...NOTHING, ...expected })
})

it('keeps 1,000 characters of a reason', () => {
  expect(parseProgramVerdict(JSON.stringify({ reason: '😀'.repeat(2_000) })).reason).toHaveLength(1_000)
})

it('reads back what it has read, from whatever agents send', () => {
  checkProperty(
    fc.property(fc.json(), (text) => {
      const verdict = parseProgramVerdict(text)
      expect(readProgramVerdict(JSON.parse(JSON.stringify(verdict)))).toEqual(verdict)
    }),
  )
  for (const nothing of [null, undefined, 1, 'text']) expect(readProgramVerdict(nothing)).toBeNull()
})
