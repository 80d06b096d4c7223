/** Programs that make no progress: how they are ended, what their retries are told, and what is shown of them. */
import { describe, expect, it } from 'vitest'
import { decisionRow, sessionRow } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { useAgentProgram } from './agent-fixture.ts'

describe('programs that hang', () => {
  const given = useAgentProgram()

  it('a program that hangs is stopped and retried, and the retry is told how far it came', async () => {
    const { create, reaches, text, db } = given
    await given.newAgent().start()
    const script = `echo "$REPRISE_RETRY_CAUSE: $REPRISE_LAST_PROGRESS"
      [ "$REPRISE_ATTEMPT" = 2 ] && exit; echo 'step 7 of 9' >"$REPRISE_PROGRESS_FILE"; exec sleep 1000`
    const retryPolicy = { maxRetries: 1, retryDelay: 0.1, jitter: 'NONE' } as const
    const limits = { progressTimeout: 1, onHang: ['sh', '-c', 'echo seen; kill "$REPRISE_PID"'] }
    const { sessionId, kernelId } = await create(['sh', '-c', script], { ...limits, retryPolicy })
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({
      error: 'no-progress',
      reason: 'no-progress: 1 s without output',
    })
    const child = await eventually(async () => (await decisionRow(db, sessionId))?.child)
    expect((await sessionRow(db, sessionId)).cause).toBe('HUNG')
    await reaches(child, 'TERMINATED')
    const { rows } = await db.query<{ id: string; progress: string | null; told: boolean }>(
      'SELECT id, progress, progress_at IS NOT NULL AS told FROM kernels ORDER BY created_at, id',
    )
    expect(rows.map(({ progress, told }) => ({ progress, told }))).toEqual([
      { progress: 'step 7 of 9', told: true },
      { progress: null, told: false },
    ])
    expect(await text(rows[1]!.id)).toBe('HUNG: step 7 of 9\n')
    expect(await text(kernelId, 'STDERR')).toContain('seen\n')
  })
})
