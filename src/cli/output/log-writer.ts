import process from 'node:process'
import type { AttemptLog } from '../../client/node/index.ts'
import { safeText } from './safe-text.ts'
import type { Output } from './output.ts'

/**
 * Writes the output of kernels to the stream they wrote it to. With several kernels, each line starts with the kernel's
 * name, and incomplete lines are held back.
 */
export function logWriter(out: Output, kernels: () => number) {
  const open = new Map<string, { text: string; chunk: AttemptLog }>()
  const streamOf = ({ stream }: AttemptLog) => (stream === 'STDERR' ? process.stderr : process.stdout)
  /** As it is for a file or a program. A terminal shows colours, and nothing that would move its cursor or command it. */
  const shownOf = (chunk: AttemptLog, text: string) => {
    const { interactive } = chunk.stream === 'STDERR' ? out.notes : out.terminal
    return interactive ? safeText(text.replaceAll('\r\n', '\n'), true) : text
  }
  const write = (chunk: AttemptLog, line: string) => {
    const terminal = chunk.stream === 'STDERR' ? out.notes : out.terminal
    streamOf(chunk).write(`${terminal.style('cyan', `${chunk.kernel} |`)} ${shownOf(chunk, line)}\n`)
  }
  return {
    write(chunk: AttemptLog): void {
      if (out.json) return out.item({ type: 'log', ...chunk }, () => '')
      if (kernels() <= 1) return void streamOf(chunk).write(shownOf(chunk, chunk.text))
      const key = `${chunk.kernelId} ${chunk.stream}`
      const lines = ((open.get(key)?.text ?? '') + chunk.text).split('\n')
      const rest = lines.pop()!
      for (const line of lines) write(chunk, line)
      open.set(key, { text: rest, chunk })
    },
    /** At the end of an attempt: writes incomplete lines as they are. */
    flush(): void {
      for (const { text, chunk } of open.values()) if (text !== '') write(chunk, text)
      open.clear()
    },
  }
}
