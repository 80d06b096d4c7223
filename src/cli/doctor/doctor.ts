import type { Command } from 'commander'
import process from 'node:process'
import { createClient } from '../../client/node/index.ts'
import { describedCommand, serverOf, withConnection } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { createOutput, type Output } from '../output/output.ts'
import { presentError } from '../present-error.ts'
import { runChecks } from './checks.ts'
import type { Finding } from './container-engine.ts'

const MARKS = { ok: ['green', '✓'], warning: ['yellow', '!'], fault: ['red', '✗'], skipped: ['dim', '·'] } as const

export function doctorCommand(): Command {
  const command = describedCommand('doctor', 'check the installation, and show how to fix problems', [
    'reprise doctor',
    'reprise doctor --url https://reprise.example.com --json',
  ])
  return withConnection(command).action(async () => {
    const options = command.opts<{ url?: string[]; token?: string; profile?: string; json?: boolean }>()
    const out = createOutput(options.json ?? false)
    try {
      const server = serverOf(options)
      const urls = server.urls.map(({ href }) => href)
      await using client = createClient({ urls, token: server.token, retry: false, timeouts: 5 })
      const findings: Finding[] = []
      for await (const finding of runChecks({ client, server, environment: process.env })) {
        findings.push(finding)
        if (!out.json) printFinding(finding, out)
      }
      const faults = findings.filter(({ state }) => state === 'fault').length
      const warnings = findings.filter(({ state }) => state === 'warning').length
      out.show({ faults, warnings, findings }, () => verdict(faults, warnings))
      process.exitCode = faults === 0 ? 0 : exitStatus('FAILED')
    } catch (error) {
      const { message, status } = presentError(error, undefined)
      out.note(message)
      process.exitCode = status
    }
  })
}

function verdict(faults: number, warnings: number): string {
  const warned = `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`
  if (faults > 0) return warnings === 0 ? `${faults} to fix` : `${faults} to mend, ${warned}`
  return warnings === 0 ? 'no problems' : `no problems, ${warned}`
}

function printFinding({ state, what, found, advice }: Finding, { terminal, print }: Output): void {
  const [style, mark] = MARKS[state]
  print(`${terminal.style(style, mark)} ${what}: ${found}`)
  if (advice !== undefined) print(`    ${advice}`)
}
