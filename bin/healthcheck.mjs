import { readFile } from 'node:fs/promises'
import { get } from 'node:https'
import { get as getPlain } from 'node:http'
import { join } from 'node:path'
import { env as environment, exit, stderr } from 'node:process'
import { text } from 'node:stream/consumers'

/**
 * Checks whether the server or the agent with this environment works, for the health checks of containers: exit status
 * 0 or 1, and the reason. A server is asked on this machine whether it is ready; the name in its certificate does not
 * matter. An agent, recognized by REPRISE_SERVER_URL, listens nowhere: it works if the deadline of its fence is in the
 * future, which is so as long as servers answer it.
 */
const fault = await (environment.REPRISE_SERVER_URL ? faultOfAgent() : faultOfServer())
if (fault !== null) stderr.write(`${fault}\n`)
exit(fault === null ? 0 : 1)

async function faultOfAgent() {
  const directory = environment.REPRISE_DATA_DIR || '.reprise'
  const read = (path) => readFile(path, 'utf8').catch(() => '')
  const [deadline, bootId] = (await read(join(directory, 'agent/fence'))).trim().split(/\s+/)
  if (!deadline || bootId !== (await read('/proc/sys/kernel/random/boot_id')).trim())
    return 'no server has answered yet'
  const [uptime] = (await read('/proc/uptime')).split(' ')
  return Number(uptime) < Number(deadline) ? null : 'no server has answered for too long'
}

function faultOfServer() {
  const tls = Boolean(environment.REPRISE_TLS_CERT_FILE)
  const host = environment.REPRISE_HOST || '127.0.0.1'
  const options = {
    host: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host,
    port: environment.REPRISE_PORT || 4000,
    path: '/readyz',
    timeout: 4_000,
    ...(tls && { rejectUnauthorized: false }),
  }
  return new Promise((resolve) => {
    const request = (tls ? get : getPlain)(options, (response) => {
      const told = (body) => resolve(response.statusCode === 200 ? null : body.trim())
      text(response).then(told, (error) => resolve(error.message))
    })
    request.on('timeout', () => request.destroy(new Error('the server does not answer')))
    request.on('error', (error) => resolve(error.message))
  })
}
