import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface PeerProcess extends AsyncDisposable {
  ask(question: 'enqueue' | 'succeeded', count?: number): Promise<unknown>
}

type Reply = { answer: unknown } | { failed: string }

/** Starts a peer's program, which adds jobs and works on them, and waits until it is ready. */
export async function startPeer(program: string, address: string, signal: AbortSignal): Promise<PeerProcess> {
  const child = fork(join(import.meta.dirname, program), [address], {
    stdio: ['ignore', 2, 2, 'ipc'],
    // Of its packages, about each other.
    execArgv: ['--disable-warning=DeprecationWarning'],
  })
  const ask = (question: string, count?: number) => {
    child.send({ ask: question, count })
    return reply(child, program, signal)
  }
  await reply(child, program, signal)
  return {
    ask,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return
      await ask('close')
      child.disconnect()
      if (child.exitCode === null) await once(child, 'exit', { signal })
    },
  }
}

async function reply(child: ChildProcess, program: string, signal: AbortSignal): Promise<unknown> {
  const over = new AbortController()
  const either = { signal: AbortSignal.any([signal, over.signal]) }
  try {
    const ended = once(child, 'exit', either).then(([code]) => ({ failed: `${program} ended with ${code}` }))
    const message = once(child, 'message', either).then(([value]) => value as Reply)
    const first: Reply = await Promise.race([message, ended])
    if ('failed' in first) throw new Error(first.failed)
    return first.answer
  } finally {
    over.abort()
  }
}
