import type { Command } from 'commander'
import { type Attempt, NotFoundError } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { past, wholeNumber } from '../options/values.ts'
import { attemptNotes, followChain, logWriter } from './follow-chain.ts'
import { beginningWith, findId, findSession, SESSION_ARGUMENT } from '../find.ts'

interface LogsOptions {
  attempt?: number
  follow?: boolean
  kernel?: string
  tail?: number
  since?: string
}

export function logsCommand(): Command {
  const command = describedCommand('logs', 'print the output of an attempt; with --follow, also later output', [
    'reprise logs nightly',
    'reprise logs nightly --attempt 1 --kernel main1',
    'reprise logs nightly --tail 20 --follow',
    'reprise logs nightly --since 10m',
  ])
    .argument('<session>', SESSION_ARGUMENT)
    .option('--attempt <n>', 'number of the attempt; the default is the session itself', wholeNumber)
    .option('-f, --follow', 'follow the output until the chain has ended, through all further attempts')
    .option('--tail <n>', 'only the last n lines of each kernel, of the output so far', wholeNumber)
    .option('--since <time>', 'only output that arrived since this time, or a duration ago like 10m', past)
    .option('--kernel <name>', 'only this kernel: main1, sub1, …, or its id or the beginning of its id')
  return act<LogsOptions>(
    command,
    async ({ client, out, signal }, { attempt: wanted, follow, kernel: given, tail, since }, [text]) => {
      const sessionId = await findSession(client, text!)
      const chain = await client.chain(sessionId)
      const attempt = chain.find((one) => (wanted === undefined ? one.sessionId === sessionId : one.attempt === wanted))
      if (!attempt)
        throw new NotFoundError('SESSION_NOT_FOUND', `There is no attempt ${wanted}; the chain has ${chain.length}.`)
      const kernels = attempt.kernels.map(({ role, index }) => `${role}${index}`)
      const kernel = given && (await findKernel(given, attempt.kernels))
      if (follow) {
        await followChain(client, { sessionId: attempt.sessionId, signal, kernel, tail, since }, attemptNotes(out))
        return
      }
      const logs = logWriter(out, () => (kernel === undefined ? kernels.length : 1))
      for await (const chunk of client.writtenLogs(attempt.sessionId, { signal, tail, since })) {
        if (kernel === undefined || chunk.kernel === kernel) logs.write(chunk)
      }
      logs.flush()
    },
    { follow: true },
  )
}

/** Finds the name of a kernel, given by name or id. @throws NotFoundError, UsageError */
async function findKernel(text: string, kernels: Attempt['kernels']): Promise<string> {
  const all = kernels.map(({ kernelId, role, index }) => ({ id: kernelId, name: `${role}${index}` }))
  const names = all.map(({ name }) => name)
  if (names.includes(text)) return text
  const beginning = async (prefix: string) => beginningWith(prefix, all)
  const id = await findId(text, { noun: 'kernel', code: 'KERNEL_NOT_FOUND', beginning }).catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error
  })
  const name = all.find((one) => one.id === id)?.name
  if (name !== undefined) return name
  throw new NotFoundError('KERNEL_NOT_FOUND', `There is no kernel ${text}. Existing kernels: ${names.join(', ')}.`)
}
