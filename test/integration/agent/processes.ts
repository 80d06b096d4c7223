import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { signalProcess } from '../../../src/agent/executors/process/proc-stat.ts'
import { eventually } from '../../support/eventually.ts'

/** By their working directory. */
export function processesIn(directory: string): string[] {
  return processIds().filter((pid) => readWorkingDirectory(pid).startsWith(directory))
}

/** Kills all of them, whatever they start meanwhile. */
export async function killProcessesIn(directory: string): Promise<void> {
  await eventually(() => {
    const pids = processesIn(directory)
    for (const pid of pids) signalProcess(Number(pid), 'SIGKILL')
    return pids.length === 0
  })
}

/**
 * Those that have `text` in their command line; a kernel's shim reads its command from a file. Without their children:
 * a shell that starts a program is for a moment two processes with the same command line.
 */
export function processesNaming(text: string): string[] {
  const naming = processIds().filter((pid) => readCommandLine(pid).includes(text))
  return naming.filter((pid) => {
    const parent = readParent(pid)
    return parent !== undefined && !naming.includes(parent)
  })
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

/** Undefined if the process has ended meanwhile. */
function readParent(pid: string): string | undefined {
  try {
    // The command's name stands in parentheses and may have spaces in it.
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ')[1]!
  } catch {
    return undefined
  }
}

function readCommandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
