import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FAILURE_CAUSES } from '../../../src/domain/session/causes.ts'
import { classifyFailure } from '../../../src/domain/retry/classify.ts'
import { FAILURE_NAMES } from '../../../src/domain/session/failure.ts'

const ERROR = { status: 'ERROR', terminatedBy: null } as const

const CAUSES = {
  'agent-lost': 'AGENT_TRANSIENT',
  'agent-fenced': 'AGENT_TRANSIENT',
  'kernel-vanished': 'AGENT_TRANSIENT',
  'scheduler-timeout': 'SCHEDULER_TIMEOUT',
  'image-pull-failed': 'IMAGE_PULL_FAILURE',
  'kernel-exited': 'KERNEL_NONZERO_EXIT',
  'task-timeout': 'KERNEL_NONZERO_EXIT',
  'oom-killed': 'OOM_KILLED',
  'executor-failed': 'UNKNOWN',
  'secrets-unreadable': 'UNKNOWN',
  'route-ended': 'UNKNOWN',
  'kernels-missing': 'UNKNOWN',
  'user-cancelled': 'USER_CANCELLED',
  'environment-too-large': 'VALIDATION_ERROR',
  'validation-failed': 'VALIDATION_ERROR',
  'dependency-failed': 'VALIDATION_ERROR',
  'quota-exceeded': 'QUOTA_EXCEEDED',
  'chain-directory-full': 'QUOTA_EXCEEDED',
  'a-name-of-tomorrow': 'UNKNOWN',
  constructor: 'UNKNOWN',
}

it.each(Object.entries(CAUSES))('%s is %s', (name, cause) => {
  const error = { name, message: 'm', agentId: 'a', exitCode: 3 }
  expect(classifyFailure(ERROR, { error })).toEqual({ kind: 'cause', cause, error })
})

it('knows every name that agents and handlers use', () => {
  expect(Object.keys(CAUSES)).toEqual(expect.arrayContaining([...FAILURE_NAMES]))
})

it('what a person ended is theirs, whatever the envelope says', () => {
  const session = { status: 'TERMINATED', terminatedBy: 'ann' } as const
  expect(classifyFailure(session, null)).toEqual({ kind: 'cause', cause: 'USER_CANCELLED', error: null })
  const error = { name: 'agent-lost', message: '' }
  expect(classifyFailure(session, { error })).toEqual({ kind: 'cause', cause: 'USER_CANCELLED', error })
})

it.each([
  [null],
  [undefined],
  ['agent-lost'],
  [[]],
  [{}],
  [{ error: null }],
  [{ error: [] }],
  [{ error: {} }],
  [{ error: { name: '', message: 'm' } }],
  [{ error: { name: 1, message: 'm' } }],
  [{ error: { name: 'agent-lost' } }],
  [{ error: { name: 'agent-lost', message: 'm', agentId: 7 } }],
  [{ error: { name: 'kernel-exited', message: 'm', exitCode: '1' } }],
  [{ error: { name: 'kernel-exited', message: 'm', exitCode: 1.5 } }],
])('%j is malformed', (statusData) => {
  expect(classifyFailure(ERROR, statusData)).toMatchObject({
    kind: 'malformed',
    message: expect.stringMatching(/^ERROR/),
  })
})

it('nulls in an envelope are absent fields', () => {
  const error = { name: 'oom-killed', message: 'm', agentId: null, exitCode: null }
  expect(classifyFailure(ERROR, { error })).toMatchObject({
    cause: 'OOM_KILLED',
    error: { name: 'oom-killed', message: 'm' },
  })
})

it('has an answer to everything', () => {
  const envelope = fc.oneof(fc.anything(), fc.record({ error: fc.anything() }))
  fc.assert(
    fc.property(envelope, fc.option(fc.string()), (statusData, terminatedBy) => {
      const answer = classifyFailure({ status: 'ERROR', terminatedBy }, statusData)
      expect(answer.kind === 'malformed' ? answer.message : answer.cause).toBeTruthy()
      if (answer.kind === 'cause') expect(FAILURE_CAUSES).toContain(answer.cause)
    }),
  )
})
