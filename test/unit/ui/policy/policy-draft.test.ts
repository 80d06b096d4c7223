import { expect, test } from 'vitest'
import { draftOfPolicy, readDraft, untypedOf } from '../../../../src/ui/policy/policy-draft.ts'
import { POLICY_FIELDS } from '../../../../src/ui/policy/policy-fields.ts'

const POLICY = {
  maxRetries: 4,
  maxElapsed: null,
  retryDelay: 1.5,
  backoff: 'EXPONENTIAL',
  backoffMultiplier: 2,
  maxRetryDelay: 3600,
  jitter: 'FULL',
  jitterRatio: 0.1,
  eligibleCauses: ['OOM_KILLED', 'UNKNOWN'],
  maxUncountedRetries: 3,
  countPreStartFailures: false,
  trustVerdicts: true,
  checkpoint: 'REQUIRE',
  checkpointWait: 60,
  pinImage: false,
  emitRetryEvents: false,
  rules: [{ action: 'STOP', delay: undefined, match: { exitCodes: [1, '64-78'] } }],
}

test('a policy is shown in the form, and is unchanged when it is sent again', () => {
  const set = { ...POLICY, given: Object.keys(POLICY) }
  const { input, faults } = readDraft(draftOfPolicy(set), POLICY_FIELDS)
  expect(faults).toEqual({})
  expect({ ...untypedOf(set), ...input }).toEqual(JSON.parse(JSON.stringify(POLICY)))
  expect(untypedOf(set)).toEqual({ trustVerdicts: true, emitRetryEvents: false })
})

test('no cause differs from any cause', () => {
  const draft = draftOfPolicy({ given: ['eligibleCauses'], eligibleCauses: [] })
  expect(readDraft(draft, POLICY_FIELDS).input).toEqual({ eligibleCauses: [] })
})

test('fields that are not set are empty', () => {
  const unset = Object.fromEntries(Object.keys(POLICY).map((path) => [path, null]))
  expect(draftOfPolicy({ ...unset, given: [] })).toEqual({})
  expect(untypedOf({ ...unset, given: ['maxElapsed'] })).toEqual({})
  expect(draftOfPolicy({ ...unset, given: ['maxElapsed'] })).toEqual({ within: 'none' })
})
