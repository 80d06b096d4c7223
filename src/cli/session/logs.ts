import type { Command } from 'commander'
import { NotFoundError } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { wholeNumber } from '../options/values.ts'
import { logWriter } from '../output/log-writer.ts'
import { attemptNotes } from './attempt-notes.ts'
import { findSession, SESSION_ARGUMENT } from './find-session.ts'
import { followChain } from '../chain/follow-chain.ts'

interface LogsOptions {
  attempt?: number
  follow?: boolean
  kernel?: string
  tail?: number
}

export function logsCommand(): Command {
  const command = describedCommand('logs', 'print the output of an attempt; with --follow, also what comes later', [
    'reprise logs nightly',
    'reprise logs nightly --attempt 1 --kernel main1',
    'reprise logs nightly --tail 20 --follow',
  ])
    .argument('<session>', SESSION_ARGUMENT)
    .option('--attempt <n>', 'number of the attempt; the default is the session itself', wholeNumber)
    .option('-f, --follow', 'follow the output until the chain has ended, through all further attempts')
    .option('--tail <n>', 'of what has been written, only the last n lines of each kernel', wholeNumber)
    .option('--kernel <name>', 'only this kernel: main1, sub1, …')
  return act<LogsOptions>(
    command,
    async ({ client, out, signal }, { attempt: wanted, follow, kernel, tail }, [text]) => {
      const sessionId = await findSession(client, text!)
      const chain = await client.chain(sessionId)
      const attempt = chain.find((one) => (wanted === undefined ? one.sessionId === sessionId : one.attempt === wanted))
      if (!attempt) throw new NotFoundError('SESSION_NOT_FOUND', `There is no attempt ${wanted} of ${chain.length}.`)
      const kernels = attempt.kernels.map(({ role, index }) => `${role}${index}`)
      if (kernel !== undefined && !kernels.includes(kernel)) {
        throw new NotFoundError('KERNEL_NOT_FOUND', `There is no kernel ${kernel}, but ${kernels.join(', ')}.`)
      }
      if (follow) {
        await followChain(client, { sessionId: attempt.sessionId, signal, kernel, tail }, attemptNotes(out))
        return
      }
      const logs = logWriter(out, () => (kernel === undefined ? kernels.length : 1))
      for await (const chunk of client.writtenLogs(attempt.sessionId, { signal, tail })) {
        if (kernel === undefined || chunk.kernel === kernel) logs.write(chunk)
      }
      logs.flush()
    },
    { follow: true },
  )
}
