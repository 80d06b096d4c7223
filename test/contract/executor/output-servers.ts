import type { OutputsReport } from '../../../src/domain/agent/protocol.ts'
import type { ExecutorHooks } from '../../../src/agent/executors/executor.ts'

/** What an executor reports about outputs, and sends of them. */
export interface OutputServers {
  hooks: Pick<ExecutorHooks, 'reportOutputs' | 'blobs'>
  readonly reports: readonly Omit<OutputsReport, 'agentId'>[]
  /** The servers answer from now on. */
  answer(): void
  ends(): Extract<OutputsReport, { step: 'END' }>[]
  /** The contents of all listed files that have arrived. */
  files(): Record<string, string | undefined>
}

/** As a request would be: what waits for an answer ends with the agent. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

export function outputServers(): OutputServers {
  const reports: Omit<OutputsReport, 'agentId'>[] = []
  const contents = new Map<string, string>()
  const answering = Promise.withResolvers<void>()
  return {
    reports,
    answer: answering.resolve,
    ends: () => reports.filter((report) => report.step === 'END') as Extract<OutputsReport, { step: 'END' }>[],
    files() {
      const pages = reports.flatMap((report) => ('files' in report ? (report as { files: object[] }).files : []))
      return Object.fromEntries(
        (pages as { path: string; sha256: string }[]).map(({ path, sha256 }) => [path, contents.get(sha256)]),
      )
    },
    hooks: {
      async reportOutputs(report, signal) {
        await Promise.race([answering.promise, aborted(signal)])
        signal.throwIfAborted()
        reports.push(report)
        return { wanted: report.step !== 'END', bytesMax: 1_000_000 }
      },
      blobs: {
        have: async ({ sha256s }) => ({
          blobs: sha256s.map((sha256) => ({ sha256, received: 0, complete: contents.has(sha256) })),
        }),
        async send({ slices }, body) {
          let at = 0
          for (const { sha256, length } of slices) {
            contents.set(sha256, Buffer.from(body.subarray(at, at + length)).toString())
            at += length
          }
          return { blobs: slices.map(({ sha256, bytes }) => ({ sha256, received: bytes, complete: true })) }
        },
        fetch: () => Promise.reject(new Error('nothing is fetched')),
      },
    },
  }
}
