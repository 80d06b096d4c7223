import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FAILURE_CAUSES } from '../../../src/domain/session/failure.ts'
import { classifyFailure } from '../../../src/domain/retry/classify.ts'
import { checkProperty } from '../../support/seeds.ts'

const ERROR = { status: 'ERROR', terminatedBy: null } as const

// Which name is which cause is held by the test of the table in docs/troubleshooting.md.
it.each([
  ['agent-lost', 'AGENT_TRANSIENT'],
  ['a-name-of-tomorrow', 'UNKNOWN'],
  ['constructor', 'UNKNOWN'],
])('%s is %s', (name, cause) => {
  const error = { name, message: 'm', agentId: 'a', exitCode: 3 }
  expect(classifyFailure(ERROR, { error })).toEqual({ kind: 'cause', cause, error })
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
  checkProperty(
    fc.property(envelope, fc.option(fc.string()), (statusData, terminatedBy) => {
      const answer = classifyFailure({ status: 'ERROR', terminatedBy }, statusData)
      expect(answer.kind === 'malformed' ? answer.message : answer.cause).toBeTruthy()
      if (answer.kind === 'cause') expect(FAILURE_CAUSES).toContain(answer.cause)
    }),
  )
})
