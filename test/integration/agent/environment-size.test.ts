/** How large commands and environments may be, at the limit of the system. */
import { expect, it } from 'vitest'
import { ARGUMENT_BYTES_MAX, COMMAND_BYTES_MAX, ENVIRON_BYTES_MAX } from '../../../src/domain/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { decisionRow, sessionRow } from '../../support/database/session-rows.ts'
import { useAgentProgram } from './agent-fixture.ts'

const given = useAgentProgram()

/** Strings that take exactly so many bytes, 9 more for each, none longer than the system takes. */
function taking(bytes: number, prefix: (n: number) => string): string[] {
  const strings: string[] = []
  for (let left = bytes; left > 0;) {
    const begin = prefix(strings.length)
    // The last two share what is left, so that neither is too short for its prefix.
    const take = left > 200_000 ? 100_000 : left > 100_000 ? Math.floor(left / 2) : left
    strings.push(begin + 'x'.repeat(take - 9 - begin.length))
    left -= take
  }
  return strings
}

function environTaking(bytes: number) {
  return taking(bytes, (n) => `V${n}=`).map((each) => {
    const at = each.indexOf('=')
    return { name: each.slice(0, at), value: each.slice(at + 1) }
  })
}

const SCRIPT = ['sh', '-c', 'echo $# $(env | grep -c "^V[0-9]*=x")', 'sh']
const commandTaking = (bytes: number) => [
  ...SCRIPT,
  ...taking(bytes - SCRIPT.reduce((sum, word) => sum + word.length + 9, 0), () => ''),
]

it('the largest command with the largest environment that is accepted starts, and one byte more is refused', async () => {
  const { newAgent, create, reaches, text } = given
  await newAgent().start()
  const [command, environ] = [commandTaking(COMMAND_BYTES_MAX), environTaking(ENVIRON_BYTES_MAX)]
  const { sessionId, kernelId } = await create(command, { environ })
  expect(await reaches(sessionId, 'TERMINATED')).toMatchObject({ exitCode: 0 })
  expect(await text(kernelId)).toBe(`${command.length - SCRIPT.length} ${environ.length}\n`)
  await expect(create(['true'], { environ: environTaking(ENVIRON_BYTES_MAX + 1) })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    issues: [
      { path: 'environ', message: `must be at most ${ENVIRON_BYTES_MAX} bytes in all, 10 more for each variable` },
    ],
  })
  await expect(create(commandTaking(COMMAND_BYTES_MAX + 1))).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    issues: [
      { path: 'command', message: `must be at most ${COMMAND_BYTES_MAX} bytes in all, 9 more for each argument` },
    ],
  })
})

it('what grew too large later fails with the numbers, and is not retried', async () => {
  const { newAgent, create, reaches, db } = given
  const { sessionId } = await create(['true'], { retryPolicy: { maxRetries: 3 } })
  const environ = [{ name: 'LONG', value: 'x'.repeat(ARGUMENT_BYTES_MAX - 'LONG='.length + 1) }]
  await db.query('UPDATE sessions SET environ = $2 WHERE id = $1', [sessionId, JSON.stringify(environ)])
  await newAgent().start()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({
    error: 'environment-too-large',
    reason: expect.stringContaining(`LONG takes ${ARGUMENT_BYTES_MAX + 1} bytes, and may take ${ARGUMENT_BYTES_MAX}`),
  })
  await eventually(async () => (await decisionRow(db, sessionId)) !== undefined)
  expect(await decisionRow(db, sessionId)).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: 'VALIDATION_ERROR' })
  expect(await sessionRow(db, sessionId)).toMatchObject({ cause: 'VALIDATION_ERROR' })
})
