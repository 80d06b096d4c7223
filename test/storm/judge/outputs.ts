import { createHash } from 'node:crypto'
import { bytesOf } from '../kernel.ts'
import type { Evidence, OutputName, OutputsRow, Run, SessionRow } from './evidence.ts'
import type { Accuse } from './promises.ts'

/** What came back of what programs wrote. Contents are compared by their SHA-256, which the judge computes itself. */

export function outputPromises(evidence: Evidence, accuse: Accuse): void {
  const { sessions, kernels, runs, outputs, stored, removed, clock } = evidence
  const gone = new Set(removed.flatMap(({ source, id }) => (source === 'sessions' ? [id] : [])))
  const byId = new Map(kernels.map((kernel) => [kernel.id, kernel]))
  // An agent that was lost before it said that the kernel runs may have begun it. The kernel was then given to an agent
  // again, and the outputs are what it left there.
  const isCounted = ({ kernelId, directory, lastAt }: Run) => {
    const { agent = null, givenAt = null } = byId.get(kernelId) ?? {}
    return (
      agent !== null && directory.includes(`/${agent}/`) && !(givenAt !== null && clock.databaseMost(lastAt) < givenAt)
    )
  }
  const bySession = Map.groupBy(runs.filter(isCounted), ({ sessionId }) => sessionId)
  for (const session of sessions) {
    if (gone.has(session.id)) continue
    const own = outputs.get(session.id)
    if (own === undefined) {
      accuse('outputs', session.id, 'has no outputs, and asked for them')
      continue
    }
    expectSettled(session, own, stored, accuse)
    // Of several kernels, the outputs are those of the first, whose lines are not marked.
    if (session.clusterSize === 1) {
      for (const run of bySession.get(session.id) ?? []) expectWritten(run, session, own, accuse)
    }
  }
}

function expectSettled({ id }: SessionRow, own: OutputsRow, stored: Evidence['stored'], accuse: Accuse): void {
  if (own.state === 'WAITING' || own.state === 'COLLECTING') accuse('outputs', id, `its outputs are still ${own.state}`)
  for (const { path, sha256, bytes } of own.files) {
    if (bytes === 0) continue
    const content = stored.get(sha256)
    if (content === undefined) accuse('outputs', id, `the content of ${path} is not stored`)
    else if (content !== sha256) accuse('outputs', id, `the stored content of ${path} has other bytes`)
  }
}

/** A program that was killed may have left a part of a file, which is as it was: only whole ones are known. */
function expectWritten(run: Run, session: SessionRow, { state, reasons, files }: OutputsRow, accuse: Accuse): void {
  for (const name of run.wrote) {
    const found = files.find(({ path }) => path === PATHS[name])
    if (found === undefined) {
      accuse('outputs', run.sessionId, `wrote ${name}, and its outputs are ${state}: ${reasons.join(', ')}`)
    } else if (found.sha256 !== expectedOf(session, name)) {
      accuse('outputs', run.sessionId, `wrote ${name}, and ${found.bytes} other bytes arrived`)
    }
  }
}

const LINE_BYTES = 37
const PATHS: Readonly<Record<OutputName, string>> = { first: 'left/first', last: 'last' }

function expectedOf({ id, chainId, name: kind }: SessionRow, name: OutputName): string {
  const bytes = bytesOf(kind)
  const text = name === 'first' ? `${id}\n` : `${chainId}\n`.repeat(Math.ceil(bytes / LINE_BYTES)).slice(0, bytes)
  return createHash('sha256').update(text).digest('hex')
}
