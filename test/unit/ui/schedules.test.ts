import { describe, expect, test } from 'vitest'
import { draftOfSchedule, updateOf, WITHOUT_SECRETS } from '../../../src/ui/pages/new-session/schedule-draft.ts'
import { readSession } from '../../../src/ui/pages/new-session/session-draft.ts'
import { readTiming } from '../../../src/ui/pages/new-session/timing.ts'

describe('a schedule that is changed', () => {
  const policy = { maxRetries: 2, emitRetryEvents: false, given: ['maxRetries', 'emitRetryEvents'] }
  const session = {
    name: 'report',
    sessionType: 'BATCH',
    command: ['sh', '-c', 'echo "a b" | tee x'],
    image: null,
    environ: [{ name: 'POEM', value: 'two\nlines' }],
    secretEnviron: ['TOKEN'],
    resourceSlots: [
      { slot: 'cpu', amount: '1' },
      { slot: 'mem', amount: '67108864' },
    ],
    resourceGroup: 'default',
    clusterSize: 1,
    clusterMode: 'SINGLE_NODE',
    batchTimeout: 90,
    onHang: [],
    neverRunTwice: false,
    stopGrace: null,
    maxPending: 60,
    priority: 70,
    labels: [],
    codeSha256: null,
    allowAgents: [],
    avoidAgents: [],
    excludeAgents: [],
    agentLabels: [],
    executorOptions: [],
    mounts: [{ volume: 'data', path: '/data', readOnly: true }],
    outputs: { paths: ['results/**'], when: 'SUCCESS', keepDays: 7 },
    concurrencyKey: null,
    concurrencyLimit: null,
    retryPolicy: policy,
  }
  const schedule = {
    scheduleId: '019cfbe2-0000-7000-8000-000000000001',
    name: 'nightly',
    cron: '30 2 * * *',
    every: null,
    timeZone: 'Europe/Berlin',
    overlap: 'QUEUE',
    catchUp: 3,
    jitter: 0,
    project: { name: 'research' },
    session,
  } as unknown as Parameters<typeof draftOfSchedule>[0]
  const before = draftOfSchedule(schedule)

  /** The update after these changes of the form; an empty text clears a field. */
  const updated = (changes: Record<string, string>) => {
    const draft = Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, text]) => text !== ''))
    const read = readSession(draft)
    return updateOf({ schedule, before, draft }, readTiming(draft, read.input.name, 0), read)
  }

  test('is shown as it is, and its session is not sent if it stays', () => {
    expect(before).toMatchObject({ command: 'echo "a b" | tee x', shell: 'true', mem: '64m', timeout: '90s' })
    expect(updated({ cron: '', every: '6h', overlap: '', catchUp: '', timeZone: '' })).toEqual({
      scheduleId: schedule.scheduleId,
      name: 'nightly',
      every: 21_600,
      timeZone: 'UTC',
      overlap: 'SKIP',
      catchUp: 1,
      jitter: 0,
    })
  })

  test('repeats all that is not changed, also what the form cannot show', () => {
    const { secretEnviron: _, retryPolicy: __, ...repeated } = session
    const same = { ...repeated, project: 'research', retryPolicy: { maxRetries: 2, emitRetryEvents: false } }
    expect(updated({ labels: 'team=cms' }).session).toEqual({ ...same, labels: [{ key: 'team', value: 'cms' }] })
    expect(updated({ priority: '' }).session).toEqual({ ...same, priority: undefined })
    expect(updated({ retries: '4' }).session?.retryPolicy).toEqual({ maxRetries: 4, emitRetryEvents: false })
    expect(updated({ retries: '' }).session?.retryPolicy).toEqual({ emitRetryEvents: false })
    expect(updated({ outputs: 'a\nb', outputsWhen: '' }).session?.outputs).toEqual({ paths: ['a', 'b'], keepDays: 7 })
    expect(updated({ [WITHOUT_SECRETS]: 'true' }).session).toEqual({ ...same, secretEnviron: [] })
  })
})
