import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { describeEngines } from '../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../support/containers/engines.ts'
import { networksOfAgent } from '../support/containers/networks-of-agent.ts'
import { sharedEngine } from '../support/containers/shared-engine.ts'
import { eventually } from '../support/eventually.ts'
import { commandLine } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** Sessions of several kernels in containers of one agent, from the command line. */

const SLOWLY_MS = 120_000

/** `main1` asks each of the others, at a port that they have in every session, and then fails as often as it is told. */
const CLUSTER = `case $REPRISE_KERNEL_NAME in
main1)
  for each in sub1 sub2; do until wget -qO- "http://$each:8080/"; do sleep 0.2; done; done
  echo "$REPRISE_CLUSTER_HOSTS"
  test "$REPRISE_ATTEMPT" -ge "$LAST";;
*) echo "$REPRISE_KERNEL_NAME of $OF, attempt $REPRISE_ATTEMPT" >index.html; exec httpd -f -p 8080 -h "$PWD";;
esac`

describeEngines('sessions of several kernels in containers of %s', (name) => {
  const missing = whyNoEngine(name)
  let engine: ContainerEngine
  let server: ServerProcess
  let reprise: ReturnType<typeof commandLine>

  beforeAll(async () => {
    if (missing !== null) return
    const root = await temporaryDirectory(`clusters-${name}`)
    engine = await sharedEngine(name)
    const dataDir = join(root, 'data')
    const env = {
      REPRISE_EXECUTOR: 'container',
      REPRISE_CONTAINER_ENGINE: engine.url,
      REPRISE_CONTAINER_NETWORK: 'default',
      REPRISE_CONTAINER_PULL: 'never',
      REPRISE_SLOTS: 'cpu=8',
    }
    server = await startServer({ dataDir, port: 0, onLog: () => undefined, env })
    const token = await readAdminToken(dataDir)
    reprise = commandLine({ REPRISE_URL: server.url, REPRISE_TOKEN: token, REPRISE_DATA_DIR: join(root, 'none') })
  }, SLOWLY_MS)
  afterAll(async () => {
    await server?.stop()
  })

  const agentId = async () =>
    (JSON.parse((await reprise('agents', '--json')).stdout) as { agentId: string }[])[0]!.agentId
  const run = (of: string, last: number) => {
    const options = `run --name ${of} --cluster-size 3 --cpu 0.1 --retries 1 --retry-delay 0.1 -e OF=${of} -e LAST=${last}`
    return reprise(...options.split(' '), '--image', BASE_IMAGE, '--', 'sh', '-c', CLUSTER)
  }

  test.skipIf(missing !== null)(
    'each have a network of their own, and so has a retry',
    { timeout: SLOWLY_MS },
    async () => {
      const ended = Promise.all([run('one', 1), run('two', 2)])
      const agent = await agentId()
      await eventually(async () => (await networksOfAgent(engine, agent)).length > 0)
      const both = await ended
      expect(both).toMatchObject([{ status: 0 }, { status: 0 }])
      const [one, two] = both.map(({ stdout }) => stdout)
      const heard = (text: string) => text.match(/sub\d of \w+, attempt \d/g)
      expect(heard(one!)).toEqual(['sub1 of one, attempt 1', 'sub2 of one, attempt 1'])
      expect(heard(two!)).toEqual([1, 2].flatMap((n) => [`sub1 of two, attempt ${n}`, `sub2 of two, attempt ${n}`]))
      expect(one).toContain('main1=main1,sub1=sub1,sub2=sub2\n')
      await eventually(async () => (await networksOfAgent(engine, agent)).length === 0)
    },
  )
})
