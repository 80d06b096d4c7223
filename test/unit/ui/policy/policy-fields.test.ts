import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { addPolicyOptions, readPolicy } from '../../../../src/cli/options/policy-options.ts'
import { SHIPPED_POLICY } from '../../../../src/domain/retry/policy/policy.ts'
import { ELIGIBLE_CAUSES } from '../../../../src/domain/session/failure.ts'
import { draftOf, readPolicySearch, searchOf } from '../../../../src/ui/pages/policy/policy-search.ts'
import { policyAsCommand, readDraft } from '../../../../src/ui/policy/policy-draft.ts'
import { CAUSES, POLICY_FIELDS } from '../../../../src/ui/policy/policy-fields.ts'
import { placeIssues } from '../../../../src/ui/policy/read-preview.ts'

const DRAFT = {
  retries: '6',
  within: '2h',
  delay: '1.5m',
  backoff: 'exponential',
  factor: '1.5',
  ceiling: 'none',
  jitter: 'decorrelated',
  share: '0.1',
  on: 'oom-killed,unknown',
  preset: 'cms-exit-codes',
  'uncounted-max': '3',
  uncounted: 'true',
  'ignore-verdicts': 'true',
}

test("the defaults of empty fields are the server's", () => {
  const standard = Object.fromEntries(POLICY_FIELDS.flatMap(({ name, standard: text }) => (text ? [[name, text]] : [])))
  const { input, faults } = readDraft(standard, POLICY_FIELDS)
  expect(faults).toEqual({})
  expect(SHIPPED_POLICY).toMatchObject(input)
  expect(
    Object.keys(CAUSES)
      .map((cause) => cause.toUpperCase().replaceAll('-', '_'))
      .toSorted(),
  ).toEqual(ELIGIBLE_CAUSES.toSorted())
})

test.each(Object.entries(DRAFT))('the command line takes %s %s as the page does', (name, text) => {
  const draft = { [name]: text }
  const { input } = readDraft(draft, POLICY_FIELDS)
  const command = policyAsCommand(draft, input).replaceAll(/\s*\\\s+/g, ' ')
  const words = command.replace('npx reprise run ', '').replace(' -- COMMAND', '').split(' ')
  const program = addPolicyOptions(new Command()).parse(words, { from: 'user' })
  expect(readPolicy(program.opts())).toEqual(input)
})

test('a policy with rules is given as text', () => {
  const draft = { retries: '2', rules: '[{"match": {}, "action": "FAIL"}]' }
  const command = policyAsCommand(draft, readDraft(draft, POLICY_FIELDS).input)
  expect(command).toContain('--policy -')
  expect(JSON.parse(command.split('\n').slice(1, -1).join('\n'))).toEqual({
    maxRetries: 2,
    rules: [{ match: {}, action: 'FAIL' }],
  })
})

test('the typed texts are the address, and the address gives the same texts', () => {
  const draft = { ...DRAFT, rules: '[{"match":{},"action":"FAIL"}]' }
  const search = searchOf(draft, 'airflow')
  expect(search).toMatchObject({ retries: 6, uncounted: true, within: '2h', rules: [{ match: {}, action: 'FAIL' }] })
  expect(draftOf(readPolicySearch(search))).toEqual(draft)
  expect(readPolicySearch({ colour: 'red', from: 'cron', delay: 'x'.repeat(201), retries: 3 })).toEqual({
    retries: 3,
    dropped: ['colour', 'from', 'delay'],
  })
})

describe('texts that are not valid', () => {
  test.each([
    ['retries', 'many', 'whole number'],
    ['delay', '5 years', 'duration'],
    ['factor', '1,5', 'number'],
    ['rules', '{}', 'list in JSON'],
    ['backoff', 'quadratic', 'one of these'],
  ])('%s %s', (name, text, words) => {
    expect(readDraft({ [name]: text }, POLICY_FIELDS)).toEqual({
      input: {},
      faults: { [name]: expect.stringContaining(words) },
    })
  })
})

test("the server's faults are placed at their fields", () => {
  const issues = [
    { path: 'policy.rules.0.delay', message: 'Too small' },
    { path: 'policy.retryDelay', message: 'Must be more than 0' },
    { path: 'sessionId', message: 'Not a UUID' },
  ]
  expect(placeIssues(issues, 'all of it', POLICY_FIELDS)).toEqual({
    faults: { rules: '0.delay: Too small', delay: 'Must be more than 0' },
    rest: 'sessionId: Not a UUID',
  })
  const coerced = 'Variable "$policy" got invalid value 1e9 at "policy.maxRetries"; Int cannot represent it'
  expect(placeIssues([], coerced, POLICY_FIELDS)).toEqual({
    faults: { retries: 'Int cannot represent it' },
    rest: null,
  })
  expect(placeIssues([], 'the database is away', POLICY_FIELDS)).toEqual({ faults: {}, rest: 'the database is away' })
})
