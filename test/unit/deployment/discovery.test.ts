import { describe, expect, test } from 'vitest'
import { prometheusTargets, traefikConfiguration, type Service } from '../../../src/domain/deployment/discovery.ts'

const endpoint = { routeId: 'r1', host: '10.0.0.1', port: 9_001, sessionId: 's1', revision: 2 }
const web: Service = {
  deploymentId: 'd1',
  name: 'web',
  project: 'ada@lab',
  labels: { 'team.name': 'a "b"', tier: '1' },
  endpoints: [endpoint, { ...endpoint, routeId: 'r2', host: 'fd00::1', sessionId: 's2' }],
}
const idle: Service = { ...web, deploymentId: 'd2', name: 'idle', endpoints: [] }

describe('Prometheus', () => {
  test('has a group of one target for each route', () => {
    const groups = prometheusTargets([web, idle])
    expect(groups.map(({ targets }) => targets)).toEqual([['10.0.0.1:9001'], ['[fd00::1]:9001']])
    expect(groups[1]!.labels).toEqual({
      project: 'ada@lab',
      deployment: 'web',
      __meta_reprise_deployment_id: 'd1',
      __meta_reprise_revision: '2',
      __meta_reprise_route_id: 'r2',
      __meta_reprise_session_id: 's2',
      __meta_reprise_label_team_name: 'a "b"',
      __meta_reprise_label_tier: '1',
    })
    for (const name of Object.keys(groups[0]!.labels)) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_]*$/)
  })

  test('has an empty list where there is nothing', () => expect(prometheusTargets([idle])).toEqual([]))
})

describe('Traefik', () => {
  test('has a service for each deployment, one without servers too', () => {
    expect(traefikConfiguration([web, idle])).toEqual({
      http: {
        services: {
          'web.ada%40lab': {
            loadBalancer: {
              passHostHeader: true,
              servers: [{ url: 'http://10.0.0.1:9001' }, { url: 'http://[fd00::1]:9001' }],
            },
          },
          'idle.ada%40lab': { loadBalancer: { passHostHeader: true } },
        },
      },
    })
  })

  test('has nothing empty below its root, which would be refused as a whole', () => {
    expect(traefikConfiguration([])).toEqual({})
    const empty = (value: unknown): boolean =>
      typeof value === 'object' &&
      value !== null &&
      (Object.keys(value).length === 0 || Object.values(value).some(empty))
    expect(empty(traefikConfiguration([web, idle]))).toBe(false)
    expect(empty(traefikConfiguration([idle]))).toBe(false)
  })
})
