import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** By their working directory. */
export function processesIn(directory: string): string[] {
  return processIds().filter((pid) => readWorkingDirectory(pid).startsWith(directory))
}

/** Those that have `text` in their command line; a kernel's shim reads its command from a file. */
export function processesNaming(text: string): string[] {
  return processIds().filter((pid) => readCommandLine(pid).includes(text))
}

function processIds(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
}

function readWorkingDirectory(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

function readCommandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
