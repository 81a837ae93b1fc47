// Command coredns is CoreDNS with the plugins that a cluster without other networks needs. Upstream's
// list of plugins brings the SDKs of three clouds.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// A query passes the plugins in this order.
	dnsserver.Directives = []string{"bind", "ready", "errors", "hosts", "kubernetes", "template"}
	coremain.Run()
}
