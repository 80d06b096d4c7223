import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'

export type SubscribersCommand =
  /** After a cut, each continues from its last cursor. Without a token it is a bare WebSocket that only listens. */
  | { kind: 'connect'; url: string; token: string | null; count: number; selection: string }
  | { kind: 'cut' }
  /** Waits until each has received this many since the last time. */
  | { kind: 'await'; count: number }

export type SubscribersReport =
  | { kind: 'connected'; tookMs: number }
  | { kind: 'cut' }
  /** `at`: when the last subscriber received its last event, in milliseconds since 1970. */
  | { kind: 'received'; at: number; received: number; faults: number }
  | { kind: 'failed'; message: string }

type Received = Extract<SubscribersReport, { kind: 'received' }>

/** Subscribers to all session events, in a process of their own. */
export interface Subscribers extends AsyncDisposable {
  pid: number
  connect(options: {
    url: string
    token: string | null
    count: number
    selection?: string
  }): Promise<{ tookMs: number }>
  /** Cuts all connections at once, without a closing handshake. */
  cut(): Promise<void>
  received(count: number): Promise<Received>
}

export function startSubscribers(): Subscribers {
  const child = fork(join(import.meta.dirname, '../programs/subscribers-program.ts'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

  async function tell<Kind extends SubscribersReport['kind']>(command: SubscribersCommand, kind: Kind) {
    const answered = once(child, 'message')
    child.send(command)
    const [report] = (await answered) as [SubscribersReport]
    if (report.kind !== kind) throw new Error(report.kind === 'failed' ? report.message : `not ${kind}: ${report.kind}`)
    return report as Extract<SubscribersReport, { kind: Kind }>
  }

  return {
    pid: child.pid!,
    connect: ({ selection = 'type sessionId', ...options }) =>
      tell(
        { kind: 'connect', selection, ...options, url: `${options.url.replace('http', 'ws')}/graphql` },
        'connected',
      ),
    cut: async () => void (await tell({ kind: 'cut' }, 'cut')),
    received: (count) => tell({ kind: 'await', count }, 'received'),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

/** Waits until the server has this many subscriptions: events before a subscription is open are not delivered to it. */
export async function subscriptionsOpen(url: string, token: string, count: number): Promise<void> {
  await eventually(
    async () => {
      const page = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      return (await page.text()).includes(`\nbai_subscriptions ${count}\n`)
    },
    { withinMs: 120_000 },
  )
}
