/** What a program itself says of its failure, and what the retry makes of it. */
import { expect, it } from 'vitest'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { eventually } from '../../support/eventually.ts'
import { useAgentProgram } from './agent-fixture.ts'

const given = useAgentProgram()

interface Decision {
  phase: string
  counted: boolean
  delaySeconds: number | null
  explanation: string
}

/** Of a program that runs this script. */
async function decisionOn(script: string, retryPolicy: object = {}) {
  const policy = { maxRetries: 2, retryDelay: 900, jitter: 'NONE', ...retryPolicy } as const
  const { sessionId } = await given.create(['sh', '-c', script], { retryPolicy: policy })
  const { reason, exitCode } = await given.reaches(sessionId, 'ERROR')
  const read = async () =>
    (
      await given.db.query<Decision>(
        'SELECT phase, counted, delay_ms / 1000.0::float8 AS "delaySeconds", explanation FROM retry_decisions WHERE session_id = $1',
        [sessionId],
      )
    ).rows[0]
  return { reason, exitCode, ...(await eventually(read)) }
}

const say = (verdict: object) => `echo '${JSON.stringify(verdict)}' > "$REPRISE_VERDICT_FILE"; exit 3`

it('a program says why it failed, and whether and when it is tried again', async () => {
  await given.newAgent().start()
  const [documented] = await blocksOfTest('test/integration/agent/program-verdicts.test.ts')
  expect(await decisionOn(documented!.text)).toMatchObject({
    reason: 'license server busy',
    exitCode: 1,
    phase: 'SCHEDULED',
    counted: false,
    delaySeconds: 30,
    explanation:
      'uncounted retry 1 of 10: exit code 1 (license server busy); its program asks for an uncounted retry after 30 s; waits 30 s',
  })
  expect(await decisionOn(say({ reason: 'bad input', retry: 'no' }))).toMatchObject({
    reason: 'bad input',
    phase: 'NOT_ELIGIBLE',
  })
  const rules = [{ match: { reason: 'bad *' }, action: 'FAIL' }]
  expect(await decisionOn(say({ reason: 'bad input', retry: 'yes' }), { rules, trustVerdicts: false })).toMatchObject({
    phase: 'NOT_ELIGIBLE',
    explanation:
      'not retried: exit code 3 (bad input); its program asks for a retry, which trustVerdicts ignores; matched rules[0] (FAIL)',
  })
})

it('what is no verdict is not used, and holds nothing up', async () => {
  await given.newAgent().start()
  const file = '"$REPRISE_VERDICT_FILE"'
  const faults: [script: string, fault: string][] = [
    [`mkfifo ${file}`, 'it is not a regular file'],
    [`ln -s /etc/passwd ${file}`, 'it cannot be read (ELOOP)'],
    [`mkdir ${file}`, 'it is not a regular file'],
    [`head -c 20000 /dev/zero > ${file}`, 'it is larger than 16384 bytes'],
    [`: > ${file}`, 'it is not JSON'],
  ]
  for (const [script, fault] of faults) {
    expect(await decisionOn(`${script}; exit 3`)).toMatchObject({
      reason: 'exited with 3',
      phase: 'SCHEDULED',
      explanation: `retry 1 of 2: exit code 3; its verdict file cannot be used: ${fault}; waits 900 s`,
    })
  }
})

it('a success is a success, and a program that was stopped says nothing', async () => {
  const { create, reaches } = given
  await given.newAgent().start()
  const { sessionId } = await create(['sh', '-c', say({ retry: 'no', reason: 'no' }).replace('exit 3', 'exit 0')])
  expect(await reaches(sessionId, 'TERMINATED')).toMatchObject({ result: 'SUCCESS', reason: null })
  const stopped = say({ retry: 'no', reason: 'gives up' }).replace('exit 3', 'sleep 100')
  const { sessionId: timedOut } = await create(['sh', '-c', stopped], {
    batchTimeout: 1,
    retryPolicy: { maxRetries: 1 },
  })
  expect((await reaches(timedOut, 'ERROR')).reason).toMatch(/^task-timeout/)
})
