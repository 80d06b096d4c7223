import process from 'node:process'
import { terminalOf } from './terminal.ts'

export interface ProgressBar {
  update(done: number, total: number, note?: string): void
  /** Removes it from the screen. */
  end(): void
}

/** One line on standard error that is overwritten; nothing if that is not a terminal. */
export function progressBar(label: string): ProgressBar {
  const terminal = terminalOf(process.stderr)
  if (!terminal.interactive) return { update() {}, end() {} }
  return {
    update(done, total, note = '') {
      const share = total === 0 ? 1 : Math.min(1, done / total)
      const figures = `${label} ${done}/${total} ${Math.floor(share * 100)} % ${note}`.trimEnd()
      const width = Math.max(5, Math.min(40, (terminal.columns ?? 80) - figures.length - 4))
      const filled = Math.round(share * width)
      process.stderr.write(`\r\u001b[2K${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${figures}`)
    },
    end: () => void process.stderr.write('\r\u001b[2K'),
  }
}
