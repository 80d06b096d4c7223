import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { eventually } from '../eventually.ts'
import type { OrdinaryUser } from './ordinary-user.ts'

export interface ProgramOfUser {
  readonly child: ChildProcess
  /** All that it says, its number first. */
  readonly lines: readonly string[]
  /** Resolves when a line begins so. Rejects if it ends before. */
  says(beginning: string, withinMs: number): Promise<string>
  kill(): Promise<void>
}

export async function startAs(
  user: OrdinaryUser,
  words: readonly string[],
  environment: Record<string, string> = {},
): Promise<ProgramOfUser> {
  // It has its number in its own namespace.
  const child = user.spawn(['sh', '-c', 'echo $$; exec "$@"', 'sh', ...words], { environment })
  const lines: string[] = []
  for (const stream of [child.stdout!, child.stderr!]) createInterface(stream).on('line', (line) => lines.push(line))
  await eventually(() => lines.length > 0)
  return {
    child,
    lines,
    says: (beginning, withinMs) =>
      eventually(
        () => {
          if (child.exitCode !== null) throw new Error(lines.join('\n'))
          return lines.find((line) => line.startsWith(beginning))
        },
        { withinMs, what: `“${beginning}…”` },
      ),
    async kill() {
      const gone = once(child, 'exit')
      await user.run(['kill', '-KILL', lines[0]!])
      await gone
    },
  }
}
